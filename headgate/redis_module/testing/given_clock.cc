// The clock of a module for tests: the time is in the file that HEADGATE_TEST_CLOCK names, as 16
// bytes [ns since 1970]. Without the variable, it is the wall time.
#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "headgate/redis/time_to_live.h"
#include "headgate/redis_module/clock.h"

namespace headgate::redis_module {
namespace {

Instant wall_time() noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return {now.tv_sec * nanos_per_second + now.tv_nsec / 1000 * 1000};
}

const Nanos* given_time() noexcept {
  const char* const path = std::getenv("HEADGATE_TEST_CLOCK");
  if (path == nullptr) return nullptr;
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) std::abort();
  void* const memory = mmap(nullptr, sizeof(Nanos), PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED) std::abort();
  return static_cast<const Nanos*>(memory);
}

}  // namespace

Instant decision_time() noexcept {
  static const Nanos* const given = given_time();
  if (given == nullptr) return wall_time();
  Instant now;
  std::memcpy(&now.ns, given, sizeof now.ns);
  return now;
}

std::int64_t expiry(Nanos full_at, Instant now) noexcept {
  constexpr Nanos nanos_per_milli = 1'000'000;
  return static_cast<std::int64_t>(wall_time().ns / nanos_per_milli) +
         static_cast<std::int64_t>(redis::time_to_live(full_at, now, redis::Clock::caller));
}

}  // namespace headgate::redis_module
