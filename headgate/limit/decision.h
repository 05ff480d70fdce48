// What a law decides about one request.
#pragma once

#include <cstdint>
#include <limits>

#include "headgate/base/instant.h"

namespace headgate::limit {

// A value: copy it, compare it, print it. Quantities are quota units of the policy that decided.
struct Decision {
  // The `wait` of a cost above the quota, which is never admitted, and of concurrency, where the
  // wait is unknown.
  static constexpr Nanos never = i128_max;
  // The `reset` if the field's t has no meaning (quota 0, concurrency) or would mislead (never).
  static constexpr std::uint64_t no_reset = std::numeric_limits<std::uint64_t>::max();

  bool admitted = false;
  std::uint64_t remaining = 0;     // r: units that a lone client can spend at this instant
  std::uint64_t reset = no_reset;  // t [s]; docs/algorithms.md says what it promises
  // The store had no place for the key, so that it decided by what the key has at most taken, or
  // others with it (docs/algorithms.md, "A full table").
  bool unkept = false;
  // Least wait until this cost is admitted [ns]. Admitted: how long the request has to wait, though
  // it is charged already (Terms::waits), else 0.
  Nanos wait = 0;

  // Retry-After [s], >= 1 on a denial. REQUIRES: wait != never.
  [[nodiscard]] constexpr std::uint64_t retry_after() const noexcept { return ceil_seconds(wait); }

  friend constexpr bool operator==(const Decision&, const Decision&) = default;
};

}  // namespace headgate::limit
