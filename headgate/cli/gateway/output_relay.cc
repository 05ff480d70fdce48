#include "headgate/cli/gateway/output_relay.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <string_view>
#include <utility>

namespace headgate::cli {
namespace {

// How long a reader may take for each piece when this process wants to end [ms].
constexpr int last_wait = 1000;

// Whether standard output takes a piece now. It never waits for a reader once `leave` is readable.
bool takes_more(int leave) noexcept {
  pollfd polled[] = {{STDOUT_FILENO, POLLOUT, 0}, {leave, POLLIN, 0}};
  while (poll(polled, 2, -1) < 0 && errno == EINTR) {
  }
  if (polled[0].revents == 0) poll(polled, 1, last_wait);
  return (polled[0].revents & POLLOUT) != 0;
}

// Copies until nobody has the pipe open for writing.
void copy(int from, int leave) noexcept {
  char bytes[PIPE_BUF];  // what a pipe that is ready takes without a wait
  bool open = true;
  for (;;) {
    const ssize_t size = read(from, bytes, sizeof bytes);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return;
    std::string_view left(bytes, static_cast<std::size_t>(size));
    while (open && !left.empty()) {
      open = takes_more(leave);
      const ssize_t written = open ? write(STDOUT_FILENO, left.data(), left.size()) : 0;
      if (written > 0) left.remove_prefix(static_cast<std::size_t>(written));
      if (written < 0 && errno != EINTR && errno != EAGAIN) open = false;
    }
  }
}

}  // namespace

Result<OutputRelay, std::string> OutputRelay::make() {
  struct stat output {};
  const bool is_device = fstat(STDOUT_FILENO, &output) == 0 && S_ISCHR(output.st_mode);
  const int opened = is_device ? -1 : open("/dev/stdout", O_WRONLY | O_APPEND | O_CLOEXEC);
  if (opened >= 0) {
    close(opened);
    return OutputRelay(-1, -1, -1);
  }
  const int leave = eventfd(0, EFD_CLOEXEC);
  int ends[2];
  if (leave >= 0 && pipe2(ends, O_CLOEXEC) == 0) return OutputRelay(ends[0], ends[1], leave);
  const int error = errno;
  if (leave >= 0) close(leave);
  return Failure<std::string>(std::strerror(error));
}

OutputRelay::OutputRelay(OutputRelay&& other) noexcept
    : read_end_(std::exchange(other.read_end_, -1)),
      write_end_(std::exchange(other.write_end_, -1)),
      leave_(std::exchange(other.leave_, -1)),
      thread_(std::move(other.thread_)) {}

OutputRelay::~OutputRelay() {
  if (thread_.joinable()) {
    eventfd_write(leave_, 1);
    thread_.join();
  }
  for (const int fd : {read_end_, write_end_, leave_}) {
    if (fd >= 0) close(fd);
  }
}

void OutputRelay::start() {
  if (write_end_ < 0) return;
  close(std::exchange(write_end_, -1));
  thread_ = std::thread(copy, read_end_, leave_);
}

}  // namespace headgate::cli
