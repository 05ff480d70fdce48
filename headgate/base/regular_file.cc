#include "headgate/base/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <system_error>

namespace headgate {
namespace {

Failure<std::string> unreadable(int error) {
  return Failure<std::string>("can't be read: " + std::generic_category().message(error));
}

}  // namespace

Result<std::string, std::string> read_regular_file(const std::string& path, std::size_t size_max) {
  using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  const File file(descriptor < 0 ? nullptr : fdopen(descriptor, "rb"),
                  [](std::FILE* opened) { return opened == nullptr ? 0 : std::fclose(opened); });
  struct stat status = {};
  if (!file || fstat(descriptor, &status) != 0) return unreadable(errno);
  if (!S_ISREG(status.st_mode)) return Failure<std::string>("is no regular file");
  std::string text;
  char block[1 << 16];
  while (text.size() <= size_max) {
    const std::size_t wanted = std::min(sizeof block, size_max + 1 - text.size());
    errno = 0;
    const std::size_t found = std::fread(block, 1, wanted, file.get());
    text.append(block, found);
    if (found < wanted) {
      if (std::ferror(file.get()) != 0) return unreadable(errno != 0 ? errno : EIO);
      break;
    }
  }
  return text;
}

bool is_same_file(const std::string& one, const std::string& other) {
  std::error_code error;  // such as of a file that does not exist: it is another one
  return one == other || std::filesystem::equivalent(one, other, error);
}

}  // namespace headgate
