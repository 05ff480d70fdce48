#include "headgate/cli/fetch/stdout.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace headgate::cli {
namespace {

int unnamed_file() {
  const char* const directory = std::getenv("TMPDIR");
  std::string name = std::string(directory != nullptr ? directory : "/tmp") + "/headgate-XXXXXX";
  const int fd = mkostemp(name.data(), O_CLOEXEC);
  if (fd >= 0) unlink(name.c_str());
  return fd;
}

// Whether SIGINT or SIGTERM has come. The fetcher has blocked them, and takes them later.
bool is_interrupted() {
  sigset_t pending;
  return sigpending(&pending) == 0 &&
         (sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1);
}

// Waits until standard output takes PIPE_BUF bytes at once, or cannot be written at all. Returns
// false if it is interrupted before.
bool wait_for_reader() {
  constexpr int look_ms = 100;  // soon enough for who has pressed Ctrl-C
  pollfd out{STDOUT_FILENO, POLLOUT, 0};
  while (poll(&out, 1, look_ms) == 0) {
    if (is_interrupted()) return false;
  }
  return true;
}

Result<void, std::string> fault() { return Failure<std::string>(std::strerror(errno)); }

Result<void, std::string> write_out(std::string_view bytes) {
  while (!bytes.empty()) {
    if (!wait_for_reader()) return Failure<std::string>("interrupted before it was read");
    // More than PIPE_BUF would block if nothing reads the rest.
    const std::size_t most = std::min<std::size_t>(bytes.size(), PIPE_BUF);
    const ssize_t put = write(STDOUT_FILENO, bytes.data(), most);
    if (put < 0 && errno != EINTR && errno != EAGAIN) return fault();
    if (put > 0) bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return {};
}

Result<void, std::string> print(int from) {
  if (lseek(from, 0, SEEK_SET) < 0) return fault();
  std::array<char, 65'536> room;
  for (;;) {
    const ssize_t got = read(from, room.data(), room.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fault();
    if (got == 0) return {};
    auto written = write_out({room.data(), static_cast<std::size_t>(got)});
    if (!written) return written;
  }
}

}  // namespace

Result<std::unique_ptr<FetchBody>, std::string> FetchStdout::begin(std::size_t) {
  const int fd = unnamed_file();
  if (fd < 0) return Failure<std::string>(std::string("a temporary file: ") + std::strerror(errno));
  return std::make_unique<FetchBody>(fd, std::string());
}

Result<void, std::string> FetchStdout::keep(std::size_t index, std::unique_ptr<FetchBody> body) {
  early_[index] = std::move(body);
  print_due();
  return {};
}

void FetchStdout::drop(std::size_t index) {
  early_[index] = nullptr;
  print_due();
}

std::size_t FetchStdout::waiting() const {
  return static_cast<std::size_t>(
      std::count_if(early_.begin(), early_.end(),
                    [](const auto& numbered) { return numbered.second != nullptr; }));
}

void FetchStdout::print_due() {
  while (lost_.empty() && !early_.empty() && early_.begin()->first == next_) {
    if (const auto& body = early_.begin()->second; body != nullptr) {
      if (const auto printed = print(body->fd()); !printed) {
        lost_ = "standard output: " + printed.error();
        return;
      }
    }
    early_.erase(early_.begin());
    ++next_;
  }
}

}  // namespace headgate::cli
