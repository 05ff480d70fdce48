#include "headgate/store/clock.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace headgate::store {
namespace {

constexpr std::int64_t second = 1'000'000'000;

std::int64_t read_clock(clockid_t id) noexcept {
  timespec t{};
  clock_gettime(id, &t);
  return t.tv_sec * second + t.tv_nsec;
}

// The kernel's random name of this boot: "xxxxxxxx-xxxx-...", 36 characters of hex and dashes.
// Where it can't be read every start counts as another boot, which is safe.
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

void Clock::begin(Anchor& anchor, const ClockSource& source) noexcept {
  constexpr std::int64_t start = 3600 * second;
  anchor.boot = source.boot();
  anchor.offset = start - source.monotonic();
  note(anchor, start, source.wall());
}

Clock::Clock(Anchor& anchor, const ClockSource& source) noexcept
    : anchor_(&anchor), source_(source), offset_(anchor.offset) {
  const std::int64_t monotonic = source.monotonic();
  const auto seen = static_cast<std::int64_t>(anchor.seen.low());
  const auto boot = source.boot();
  const bool named = boot != std::array<char, 16>{};
  if (named && boot == anchor.boot && monotonic + offset_ >= seen) return;
  const std::int64_t wall = source.wall();
  const std::int64_t passed =
      std::max<std::int64_t>(0, wall - static_cast<std::int64_t>(anchor.seen.high()));
  offset_ = seen + passed - monotonic;
  anchor.boot = boot;
  anchor.offset = offset_;
  note(anchor, seen + passed, wall);
}

Instant Clock::now() const noexcept {
  const std::int64_t table = source_.monotonic() + offset_;
  if (table - static_cast<std::int64_t>(anchor_->seen.low()) > second) {
    note(*anchor_, table, source_.wall());
  }
  return Instant{table};
}

void Clock::note(Anchor& anchor, std::int64_t table, std::int64_t wall) noexcept {
  // One swap for both: a process killed here can't leave half a note. Losing to another is fine.
  anchor.seen.replace(anchor.seen.glance(),
                      pack(static_cast<std::uint64_t>(table), static_cast<std::uint64_t>(wall)));
}

}  // namespace headgate::store
