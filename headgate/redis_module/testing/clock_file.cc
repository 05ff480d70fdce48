#include "headgate/redis_module/testing/clock_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

namespace headgate::redis_module {
namespace {

// Maps a file without a name, which others find as an open file of this process.
Nanos* make_file() {
  const int file = memfd_create("clock", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, sizeof(Nanos)) != 0) std::abort();
  void* const memory = mmap(nullptr, sizeof(Nanos), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) std::abort();
  const std::string path = "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(file);
  setenv("HEADGATE_TEST_CLOCK", path.c_str(), 1);
  return static_cast<Nanos*>(memory);
}

}  // namespace

void set_clock(Instant now) {
  static Nanos* const time = make_file();
  std::memcpy(time, &now.ns, sizeof now.ns);
}

}  // namespace headgate::redis_module
