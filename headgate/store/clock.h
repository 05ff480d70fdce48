// The table's clock: CLOCK_MONOTONIC plus an anchor that the processes share and restarts keep.
//
// Steps of the wall clock do nothing while the system runs. After a reboot, when CLOCK_MONOTONIC
// has started anew, the table's time goes on where it was last seen plus what the wall clock says
// has passed since, and never less: a wall clock that went back costs a client at most its window
// and never grants a quota twice.
#pragma once

#include <array>
#include <cstdint>

#include "headgate/base/instant.h"
#include "headgate/store/cell.h"

namespace headgate::store {

// Where time comes from. Tests bring their own.
struct ClockSource {
  std::int64_t (*monotonic)() noexcept;     // [ns] since some moment of this boot
  std::int64_t (*wall)() noexcept;          // [ns] since 1970
  std::array<char, 16> (*boot)() noexcept;  // names this boot of the system
  [[nodiscard]] static const ClockSource& system() noexcept;
  // Stands, and its table time is wall time: for histories that bring their own times.
  [[nodiscard]] static const ClockSource& still() noexcept;
};

// In the table's header page.
struct Anchor {
  std::array<char, 16> boot;
  std::int64_t offset;  // table time = monotonic + offset [ns], within `boot`
  DoubleWord seen;      // {table time, wall time} of one moment not long ago [ns]
};

class Clock {
 public:
  // A new table's: time starts an hour after its origin.
  static void begin(Anchor& anchor, const ClockSource& source) noexcept;

  // Joins a table that exists; re-anchors it if this is another boot. The caller holds the file's
  // lock, so that of several openers only one does.
  Clock(Anchor& anchor, const ClockSource& source) noexcept;

  // Thread-safe. About once a second one caller notes the time in the anchor.
  [[nodiscard]] Instant now() const noexcept;

  // What to add to this clock's time to get wall time [ns since 1970], as it was noted last.
  // Follows the steps of the wall clock within a second or so. Thread-safe.
  [[nodiscard]] Nanos to_wall() const noexcept;

 private:
  static void note(Anchor& anchor, std::int64_t table, std::int64_t wall) noexcept;

  Anchor* anchor_;
  ClockSource source_;
  std::int64_t offset_;
};

}  // namespace headgate::store
