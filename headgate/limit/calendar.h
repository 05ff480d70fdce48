// Days, weeks and months, as the clocks of one place show them.
//
// Their lengths differ: months do, and days on which clocks are changed. A calendar contains all
// changes of the clocks, so that it can say at any time which window contains a moment.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "headgate/base/instant.h"

namespace headgate::limit {

enum class CalendarUnit : std::uint8_t {
  day,    // begins at midnight
  week,   // begins on Monday
  month,  // begins on the first
};

// The length of a unit during which no clock is changed; for a month, that of the longest [ns].
[[nodiscard]] constexpr Nanos usual_length(CalendarUnit unit) noexcept {
  constexpr Nanos day = 86'400 * nanos_per_second;
  return unit == CalendarUnit::day ? day : unit == CalendarUnit::week ? 7 * day : 31 * day;
}

// Immutable; all functions are thread-safe. Laws point to it.
class Calendar {
 public:
  // A change of the clocks.
  struct Change {
    std::int64_t at;     // [s since 1970]
    std::int32_t ahead;  // of UTC, from then on [s]; less than a day
  };

  // `place`: for people. `changes`: at least one, in order of time; the first also holds for all
  // times before it.
  Calendar(CalendarUnit unit, std::string place, std::vector<Change> changes);

  [[nodiscard]] CalendarUnit unit() const noexcept { return unit_; }
  [[nodiscard]] const std::string& place() const noexcept { return place_; }

  // A window begins when the clocks first show its begin, or a later time: if they are put forward
  // over midnight, when that happens; if they are put back over it, at the first midnight.
  struct Window {
    Nanos begin;  // [ns since 1970]
    Nanos end;    // that of the next window; the moment is no part of this one
  };
  // Returns the window that contains a moment [ns since 1970], +-2^89 at most.
  [[nodiscard]] Window window_at(Nanos at) const noexcept;

 private:
  struct Seconds {
    std::int64_t begin;
    std::int64_t end;
  };
  [[nodiscard]] Seconds find(std::int64_t at) const noexcept;
  // The moment at which the window of this number begins.
  [[nodiscard]] std::int64_t begin_of(std::int64_t number) const noexcept;
  [[nodiscard]] std::vector<Change>::const_iterator in_force(std::int64_t at) const noexcept;

  const CalendarUnit unit_;
  const std::string place_;
  const std::vector<Change> changes_;
  // The window that was found last, packed: almost every moment is in it. 0: none.
  mutable std::atomic<std::uint64_t> latest_{0};
};

}  // namespace headgate::limit
