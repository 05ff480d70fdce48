// What tells one content of a file from another, where each content has a file of its own.
#pragma once

#include <sys/stat.h>

#include <cstdint>

namespace headgate {

struct FileVersion {
  FileVersion() = default;
  explicit FileVersion(const struct stat& status) noexcept
      : device(status.st_dev),
        inode(status.st_ino),
        size(static_cast<std::uint64_t>(status.st_size)),
        seconds(status.st_mtim.tv_sec),
        nanoseconds(status.st_mtim.tv_nsec) {}

  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::int64_t seconds = 0;  // of the last change
  std::int64_t nanoseconds = 0;

  friend bool operator==(const FileVersion&, const FileVersion&) = default;
};

}  // namespace headgate
