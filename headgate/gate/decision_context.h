// Working memory of one request.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "headgate/gate/check.h"
#include "headgate/gate/verdict.h"
#include "headgate/store/store.h"

namespace headgate::gate {

static_assert(policy::policies_max <= store::Bundle::charges_max);

class Gate;

// From admit() or decide() until its verdict has been used. Large: reuse it from request to request
// (a door with a synchronous store needs one per thread). The parts below the results are the
// gate's own.
struct DecisionContext {
  Verdict verdict;
  std::span<const CheckResult> results;  // of decide(), in the order of its checks
  Instant now;  // as of when it was decided; meaningless if no policy applied

  policy::Scratch scratch;
  limit::Op op = limit::Op::spend;
  std::size_t matched = 0;
  std::size_t enforced = 0;  // charges [0, enforced) are one bundle; the others are alone
  std::size_t asked = 0;     // bundles

  std::array<std::uint8_t, policy::policies_max> match_of;  // charge -> match
  std::array<store::Charge, policy::policies_max> charges;
  std::array<limit::Decision, policy::policies_max> decisions;
  std::array<store::Bundle, policy::policies_max> bundles;
  std::array<Item, policy::policies_max> items;
  std::array<Due, policy::policies_max> dues;
  std::array<std::array<char, 16>, policy::policies_max> opaque_pks;
  std::array<std::string, policy::policies_max> names;  // store keys of checks
  std::array<CheckResult, policy::policies_max> answers;
  std::array<std::uint8_t, policy::policies_max> check_of;  // match -> check

  const Gate* gate = nullptr;
  std::optional<Instant> moment;  // given to admit(), or from the store
  store::Completion done;
};

}  // namespace headgate::gate
