// The result of one request under a law with a small state.
#pragma once

#include "headgate/limit/decision.h"

namespace headgate::limit {

// The state to keep and the decision.
template <class State>
struct Step {
  State state{};         // meaningful only if `changed`
  bool changed = false;  // false: the store has nothing to write
  Decision decision;
};

}  // namespace headgate::limit
