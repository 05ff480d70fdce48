// The table's clock: CLOCK_BOOTTIME plus an anchor that is shared by the processes and survives
// restarts.
//
// CLOCK_BOOTTIME is a monotonic clock that goes on while the machine sleeps, as time does for the
// clients. While the system runs, steps of the wall clock have no effect. After a reboot, when
// CLOCK_BOOTTIME has been reset, the table's time continues from the last time in the anchor, plus
// the time that has passed since by the wall clock. If the wall clock went back, nothing is added:
// a client then waits at most one window longer, and never gets a quota twice.
#pragma once

#include <array>
#include <cstdint>

#include "headgate/base/instant.h"
#include "headgate/store/cell.h"

namespace headgate::store {

// Where time comes from. Tests pass their own.
struct ClockSource {
  std::int64_t (*monotonic)() noexcept;     // [ns] since a moment that is fixed during one boot
  std::int64_t (*wall)() noexcept;          // [ns] since 1970
  std::array<char, 16> (*boot)() noexcept;  // identifies this boot of the system; zeroes if unknown
  [[nodiscard]] static const ClockSource& system() noexcept;
  // A clock that never advances and whose table time is wall time: for callers that pass all times.
  [[nodiscard]] static const ClockSource& still() noexcept;
};

// Part of the table's header.
struct Anchor {
  std::array<char, 16> boot;
  std::int64_t offset;  // table time = monotonic + offset [ns], within `boot`
  DoubleWord seen;      // {table time, wall time} of the same moment, about the last second [ns]
};

class Clock {
 public:
  // Initialises the anchor of a new table. Its time starts an hour after its origin, so that times
  // before its start are positive, too.
  static void begin(Anchor& anchor, const ClockSource& source) noexcept;

  // Joins an existing table; updates the anchor if this is another boot. REQUIRES: the caller holds
  // the file's lock.
  Clock(Anchor& anchor, const ClockSource& source) noexcept;

  // Thread-safe. About once per second one of the callers writes the time into the anchor.
  [[nodiscard]] Instant now() const noexcept;

  // Whether it is ClockSource::still(), so that only the callers know the time.
  [[nodiscard]] bool is_still() const noexcept {
    return source_.monotonic == ClockSource::still().monotonic;
  }

  // What to add to this clock's time to get wall time [ns since 1970], by the anchor. Follows steps
  // of the wall clock after about a second. A wall clock earlier than 1970 or later than 2225 is
  // ignored: wall time then goes on by the monotonic clock. Otherwise a clock that stands at the
  // end of its range would open a window that is aligned to it again and again. Thread-safe.
  [[nodiscard]] Nanos to_wall() const noexcept;

 private:
  // The wall time to store at this table time [ns].
  [[nodiscard]] Nanos wall_at(Nanos table) const noexcept;
  static void store_anchor(Anchor& anchor, Nanos table, Nanos wall) noexcept;

  Anchor* anchor_;
  ClockSource source_;
  std::int64_t offset_;
};

}  // namespace headgate::store
