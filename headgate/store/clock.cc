#include "headgate/store/clock.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <limits>

namespace headgate::store {
namespace {

constexpr std::int64_t second = 1'000'000'000;
constexpr std::int64_t moment = 1'000'000;      // readings of two clocks take less
constexpr std::int64_t origin = 3600 * second;  // where a new table's time starts

std::int64_t read_clock(clockid_t id) noexcept {
  timespec t{};
  clock_gettime(id, &t);
  return t.tv_sec * second + t.tv_nsec;
}

// Over reboots the table's time advances to at most 73 years after its origin [ns], however far the
// wall clock is ahead. From there it has 73 years to go on to the end of what a table can contain.
// Sums with windows stay below 2^63.
constexpr Nanos jump_max = Nanos{1} << 61;
constexpr Nanos table_max = Nanos{1} << 62;

// A wall clock that is earlier than 1970 or later than the year 2225 is wrong [ns since 1970].
constexpr Nanos wall_max = Nanos{7} << 60;

// A time of the anchor, within the range that it can have: the file may be damaged.
Nanos plausible(std::uint64_t stored, Nanos most) noexcept {
  return std::clamp<Nanos>(static_cast<std::int64_t>(stored), 0, most);
}
Nanos plausible_table(std::uint64_t stored) noexcept { return plausible(stored, table_max); }
// Without a clock that is right, wall time goes on from the anchor's: beyond wall_max.
Nanos plausible_wall(std::uint64_t stored) noexcept {
  return plausible(stored, std::numeric_limits<std::int64_t>::max());
}

// What two clocks show at one moment [ns].
struct Times {
  Nanos time;  // by the monotonic clock, or of the table
  Nanos wall;
};

Times last_seen(const Anchor& anchor) noexcept {
  const DoubleWord& seen = anchor.seen;
  for (;;) {
    const std::uint64_t table = seen.low();
    const std::uint64_t wall = seen.high();
    if (seen.low() == table) return {plausible_table(table), plausible_wall(wall)};
  }
}

// Reads both clocks again if the process was stopped between them.
Times read_clocks(const ClockSource& source) noexcept {
  constexpr int tries_max = 10;  // a process that is stopped each time has to start, too
  Times read{};
  for (int i = 0; i < tries_max; ++i) {
    read = {source.monotonic(), std::clamp<Nanos>(source.wall(), 0, wall_max)};
    if (source.monotonic() - read.time < moment) break;
  }
  return read;
}

// The kernel's random UUID of this boot: "xxxxxxxx-xxxx-...", 36 characters of hex and dashes. If
// it cannot be read, the id is zero.
std::array<char, 16> boot_id() noexcept {
  std::array<char, 16> id{};
  std::array<char, 36> text{};
  const int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  if (file < 0) return id;
  const ssize_t got = read(file, text.data(), text.size());
  close(file);
  for (std::size_t i = 0, digit = 0; i < static_cast<std::size_t>(std::max<ssize_t>(got, 0)); ++i) {
    const char c = text[i];
    if (c == '-' || digit >= 32) continue;
    const int value = c <= '9' ? c - '0' : c - 'a' + 10;
    id[digit / 2] = static_cast<char>(id[digit / 2] << 4 | (value & 15));
    ++digit;
  }
  return id;
}

}  // namespace

const ClockSource& ClockSource::system() noexcept {
  static constexpr ClockSource source{
      []() noexcept { return read_clock(CLOCK_BOOTTIME); },
      []() noexcept { return read_clock(CLOCK_REALTIME); },
      boot_id,
  };
  return source;
}

const ClockSource& ClockSource::still() noexcept {
  static constexpr ClockSource source{
      []() noexcept { return std::int64_t{0}; },
      []() noexcept { return origin; },
      []() noexcept { return std::array<char, 16>{"still"}; },
  };
  return source;
}

void Clock::begin(Anchor& anchor, const ClockSource& source) noexcept {
  const Times clocks = read_clocks(source);
  anchor.boot = source.boot();
  anchor.offset = static_cast<std::int64_t>(origin - clocks.time);
  store_anchor(anchor, origin, clocks.wall);
}

Clock::Clock(Anchor& anchor, const ClockSource& source) noexcept
    : anchor_(&anchor), source_(source), offset_(anchor.offset) {
  // In 128 bits, because the numbers of a damaged file may be anything. The anchor is read before
  // the clocks: other processes write it while this one is stopped, and what they have seen would
  // be later than the clock.
  const Times seen = last_seen(anchor);
  const auto boot = source.boot();
  const Times clocks = read_clocks(source);
  const bool named = boot != std::array<char, 16>{};
  const Nanos now = clocks.time + offset_;
  const Nanos passed = std::max<Nanos>(0, clocks.wall - seen.wall);
  // Without a name it is the same boot if as much time has passed by both clocks. If it is another
  // one all the same, the time is right, too.
  const Nanos apart = now - seen.time - passed;
  const bool same_boot = named ? boot == anchor.boot : apart > -second && apart < second;
  if (same_boot && now >= seen.time && now <= table_max) return;
  const Nanos table = std::max(seen.time, std::min(seen.time + passed, jump_max));
  offset_ = static_cast<std::int64_t>(table - clocks.time);
  anchor.boot = boot;
  anchor.offset = offset_;
  store_anchor(anchor, table, clocks.wall);
}

Instant Clock::now() const noexcept {
  const std::int64_t table = source_.monotonic() + offset_;
  if (table - static_cast<std::int64_t>(anchor_->seen.low()) > second) {
    const Nanos wall = wall_at(table);
    // Both times are of one moment, unless the process was stopped between them. The next one's
    // turn comes soon.
    if (source_.monotonic() + offset_ - table < moment) store_anchor(*anchor_, table, wall);
  }
  return Instant{table};
}

Nanos Clock::wall_at(Nanos table) const noexcept {
  const Nanos wall = source_.wall();
  return wall >= 0 && wall <= wall_max ? wall : table + to_wall();
}

Nanos Clock::to_wall() const noexcept {
  const Times seen = last_seen(*anchor_);
  return seen.wall - seen.time;
}

void Clock::store_anchor(Anchor& anchor, Nanos table, Nanos wall) noexcept {
  // Both times in one swap, so that a process that is killed here cannot leave only one of them. If
  // the swap fails, another process has just written its own times.
  anchor.seen.replace(anchor.seen.read_halves(),
                      pack(static_cast<std::uint64_t>(table), static_cast<std::uint64_t>(wall)));
}

}  // namespace headgate::store
