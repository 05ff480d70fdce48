// What a law with a small state makes of one request.
#pragma once

#include "headgate/limit/decision.h"

namespace headgate::limit {

// The state to keep and the answer.
template <class State>
struct Step {
  State state{};         // meaningful only if `changed`
  bool changed = false;  // false: the store has nothing to write
  Decision decision;
};

}  // namespace headgate::limit
