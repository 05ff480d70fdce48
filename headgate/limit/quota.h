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
  Denied denied = Denied::free;
  Nanos penalty = 0;  // [ns], > 0 exactly with Denied::penalty
  Reset reset = Reset::pace;
};

}  // namespace headgate::limit
