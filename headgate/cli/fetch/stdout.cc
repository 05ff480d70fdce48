#include "headgate/cli/fetch/stdout.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

namespace headgate::cli {
namespace {

int unnamed_file() {
  const char* const directory = std::getenv("TMPDIR");
  std::string name = std::string(directory != nullptr ? directory : "/tmp") + "/headgate-XXXXXX";
  const int fd = mkostemp(name.data(), O_CLOEXEC);
  if (fd >= 0) unlink(name.c_str());
  return fd;
}

bool print(int from) {
  if (lseek(from, 0, SEEK_SET) < 0) return false;
  std::array<char, 65'536> room;
  for (;;) {
    const ssize_t got = read(from, room.data(), room.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got == 0;
    for (ssize_t done = 0; done < got;) {
      const ssize_t put =
          write(STDOUT_FILENO, room.data() + done, static_cast<std::size_t>(got - done));
      if (put < 0 && errno != EINTR) return false;
      if (put > 0) done += put;
    }
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
  return print_due();
}

void FetchStdout::drop(std::size_t index) {
  early_[index] = nullptr;
  static_cast<void>(print_due());  // the next keep() reports a failure, too
}

Result<void, std::string> FetchStdout::print_due() {
  while (!early_.empty() && early_.begin()->first == next_) {
    const std::unique_ptr<FetchBody> body = std::move(early_.begin()->second);
    early_.erase(early_.begin());
    ++next_;
    if (body != nullptr && !print(body->fd())) {
      return Failure<std::string>(std::string("standard output: ") + std::strerror(errno));
    }
  }
  return {};
}

}  // namespace headgate::cli
