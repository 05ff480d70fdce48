// How much per how long, and what the policy asks of its law.
#pragma once

#include <cstdint>

#include "headgate/base/instant.h"

namespace headgate::limit {

struct Quota {
  static constexpr std::uint64_t units_max = field_integer_max;
  static constexpr std::uint64_t cost_max =
      units_max + 1;  // what no quota admits: larger is the same
  static constexpr Nanos window_max = static_cast<Nanos>(field_integer_max) * nanos_per_second;

  std::uint64_t units = 0;  // q, 0..units_max; 0 admits nothing
  Nanos window = 0;         // w [ns], 1..window_max

  friend constexpr bool operator==(const Quota&, const Quota&) = default;
};

// The shape of the law. docs/algorithms.md says how they differ.
enum class Algorithm : std::uint8_t {
  linear,
  exponential,
  fixed_window,
  moving_window,
  sliding_window_counter,
  concurrency,
};

// What a denied request costs the client.
enum class Denied : std::uint8_t {
  free,     // nothing: it may try again as often as it likes
  spend,    // its cost, as if it had been admitted
  penalty,  // its cost, and up to `penalty` of debt on top of the window
};

// What t says on an admission (on a denial it is always the wait).
enum class Reset : std::uint8_t {
  pace,  // more is there when it ends, and r/t never exceeds q/w
  next,  // least time until more than r is there
  full,  // time until the whole quota is there
};

// The knobs of a law beside its quota.
struct Terms {
  static constexpr std::uint32_t log_max = 65536;

  Denied denied = Denied::free;
  Nanos penalty = 0;  // [ns], > 0 exactly with Denied::penalty
  Reset reset = Reset::pace;
  Algorithm algorithm = Algorithm::linear;
  // Costs are charged after the fact (Op::debit), so a key may owe up to a quota on top of its own.
  bool late = false;
  bool aligned = false;      // windows start at multiples of their length since the epoch, ...
  Nanos offset = 0;          // ... plus this [ns], 0..window
  std::uint32_t log = 4096;  // moving window: records a key, 1..log_max
  Nanos lease = 60 * nanos_per_second;  // concurrency: a slot that nobody releases comes back [ns]
};

}  // namespace headgate::limit
