#include "headgate/base/patient_read.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>

namespace headgate {

ssize_t patient_read(int descriptor, std::span<char> out) noexcept {
  for (;;) {
    const ssize_t count = read(descriptor, out.data(), out.size());
    if (count >= 0 || (errno != EINTR && errno != EAGAIN)) return count;
    if (errno == EAGAIN) {
      pollfd polled{descriptor, POLLIN, 0};
      poll(&polled, 1, -1);
    }
  }
}

}  // namespace headgate
