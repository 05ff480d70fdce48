// Which policy file a configuration was read from, in memory that processes share.
#pragma once

#include <sys/stat.h>

#include <array>
#include <climits>
#include <cstdint>
#include <string>

namespace headgate::nginx {

struct PolicyFile {
  std::array<char, PATH_MAX> path{};  // with a final 0; "": there is none
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::int64_t seconds = 0;  // of the last change
  std::int64_t nanoseconds = 0;

  // The file of this name as it is now.
  [[nodiscard]] static PolicyFile at(const std::string& path) noexcept {
    PolicyFile file;
    struct stat status = {};
    if (path.size() >= file.path.size() || stat(path.c_str(), &status) != 0) return file;
    path.copy(file.path.data(), path.size());
    file.device = status.st_dev;
    file.inode = status.st_ino;
    file.size = static_cast<std::uint64_t>(status.st_size);
    file.seconds = status.st_mtim.tv_sec;
    file.nanoseconds = status.st_mtim.tv_nsec;
    return file;
  }

  friend bool operator==(const PolicyFile&, const PolicyFile&) = default;
};

}  // namespace headgate::nginx
