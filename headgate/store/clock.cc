#include "headgate/store/clock.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace headgate::store {
namespace {

constexpr std::int64_t second = 1'000'000'000;
constexpr std::int64_t origin = 3600 * second;  // where a new table's time starts

std::int64_t read_clock(clockid_t id) noexcept {
  timespec t{};
  clock_gettime(id, &t);
  return t.tv_sec * second + t.tv_nsec;
}

// The largest table time and wall time [ns]: 73 years after their origin. Sums stay far from 2^63.
constexpr Nanos latest = Nanos{1} << 61;

// A time of the anchor, within the range that it can have: the file may be damaged.
Nanos plausible(std::uint64_t stored) noexcept {
  return std::clamp<Nanos>(static_cast<std::int64_t>(stored), 0, latest);
}

// The kernel's random UUID of this boot: "xxxxxxxx-xxxx-...", 36 characters of hex and dashes. If
// it cannot be read, the id is zero and every start counts as another boot, which is safe.
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
      []() noexcept { return read_clock(CLOCK_MONOTONIC); },
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
  anchor.boot = source.boot();
  anchor.offset = origin - source.monotonic();
  store_anchor(anchor, origin, source.wall());
}

Clock::Clock(Anchor& anchor, const ClockSource& source) noexcept
    : anchor_(&anchor), source_(source), offset_(anchor.offset) {
  // In 128 bits, because the numbers of a damaged file may be anything.
  const Nanos monotonic = source.monotonic();
  const Nanos seen = plausible(anchor.seen.low());
  const auto boot = source.boot();
  const bool named = boot != std::array<char, 16>{};
  const Nanos now = monotonic + offset_;
  if (named && boot == anchor.boot && now >= seen && now <= latest) return;
  const std::int64_t wall = source.wall();
  const Nanos passed = std::max<Nanos>(0, wall - plausible(anchor.seen.high()));
  offset_ = static_cast<std::int64_t>(std::min(seen + passed, latest) - monotonic);
  anchor.boot = boot;
  anchor.offset = offset_;
  store_anchor(anchor, static_cast<std::int64_t>(monotonic) + offset_, wall);
}

Instant Clock::now() const noexcept {
  const std::int64_t table = source_.monotonic() + offset_;
  if (table - static_cast<std::int64_t>(anchor_->seen.low()) > second) {
    store_anchor(*anchor_, table, source_.wall());
  }
  return Instant{table};
}

Nanos Clock::to_wall() const noexcept {
  const DoubleWord& seen = anchor_->seen;
  for (;;) {
    const std::uint64_t table = seen.low();
    const std::uint64_t wall = seen.high();
    if (seen.low() == table) return plausible(wall) - plausible(table);
  }
}

void Clock::store_anchor(Anchor& anchor, std::int64_t table, std::int64_t wall) noexcept {
  // Both times in one swap, so that a process that is killed here cannot leave only one of them. If
  // the swap fails, another process has just written its own times.
  anchor.seen.replace(anchor.seen.read_halves(),
                      pack(static_cast<std::uint64_t>(table), static_cast<std::uint64_t>(wall)));
}

}  // namespace headgate::store
