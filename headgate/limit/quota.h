// How many units per how much time, and the other parameters of a law.
#pragma once

#include <cstdint>

#include "headgate/base/instant.h"

namespace headgate::limit {

class Calendar;

struct Quota {
  static constexpr std::uint64_t units_max = field_integer_max;
  // No quota admits this cost; larger costs are reduced to it.
  static constexpr std::uint64_t cost_max = units_max + 1;
  static constexpr Nanos window_max = static_cast<Nanos>(field_integer_max) * nanos_per_second;

  std::uint64_t units = 0;  // q, 0..units_max; 0 admits nothing
  Nanos window = 0;         // w [ns], 1..window_max
  // A token bucket: `count` units return per `period` [ns], where that is another rate than units
  // per window in whole seconds; the window is then units * period / count, rounded up to a
  // nanosecond. The linear law refills at this rate; t follows from the window in whole seconds,
  // which is what clients are shown. count 0: the rate is units per window.
  std::uint64_t count = 0;  // 0..units_max
  Nanos period = 0;         // 1..window_max if there is a count

  friend constexpr bool operator==(const Quota&, const Quota&) = default;
};

// The kinds of laws. docs/algorithms.md says how they differ.
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
  free,     // nothing, however often it tries again
  spend,    // its cost, as if it had been admitted
  penalty,  // its cost, and up to `penalty` of debt on top of the window
};

// The meaning of t on an admission (on a denial t is the wait).
enum class Reset : std::uint8_t {
  pace,  // more than r is available after t, and r/t never exceeds q/w
  next,  // least time until more than r is available
  full,  // time until the whole quota is available
  // Fixed windows: time until the window ends, also if nothing is spent, and also on a denial of a
  // cost above the quota. If denials count, nothing passes before, so that this is its wait, too.
  // As `next` under all other laws.
  window,
};

// The parameters of a law apart from its quota.
struct Terms {
  // A key with a full log of this length takes 1.2 MB, and each further request reads all of it.
  static constexpr std::uint32_t log_max = 65536;

  Denied denied = Denied::free;
  Nanos penalty = 0;  // [ns], > 0 exactly with Denied::penalty
  Reset reset = Reset::pace;
  Algorithm algorithm = Algorithm::linear;
  // Linear: the state is that of LinearExact, also where LinearWhole would do.
  bool exact = false;
  // Costs are charged when they are known (Op::debit), so a key may owe up to one quota beyond its
  // own.
  bool late = false;
  // Denials are free, and a key may owe what comes back within this time [ns]: spends for which
  // requests wait. Only linear and fixed windows; 0: none.
  Nanos delay = 0;
  // A spend takes what comes back within `delay`, too; the decision's wait says when it may pass.
  bool waits = false;
  bool aligned = false;  // windows start at multiples of their length since 1970, ...
  Nanos offset = 0;      // ... plus this [ns], 0..window
  // Aligned fixed windows: they are those of this calendar, which outlives the law. Quota::window
  // is then the calendar's usual_length(), which clients are shown; nullptr: no calendar.
  const Calendar* calendar = nullptr;
  std::uint32_t log = 4096;             // moving window: most records per key, 1..log_max
  Nanos lease = 60 * nanos_per_second;  // concurrency: a slot counts for at most this long [ns]

  friend constexpr bool operator==(const Terms&, const Terms&) = default;
};

// What a law is made from. A law's own parameters() may be other ones than those that it was made
// from, but the law that is made from them decides the same.
struct Parameters {
  Quota quota;
  Terms terms;

  friend constexpr bool operator==(const Parameters&, const Parameters&) = default;
};

}  // namespace headgate::limit
