// Where the last write to a file ended: whether the next one goes on there.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

namespace headgate {

// Equal if it is the same file with the same length. Pipes and the like have no length: 0.
class FileEnd {
 public:
  FileEnd() = default;
  // Of an open file. All files of which the system says nothing are taken for one.
  explicit FileEnd(int fd) noexcept {
    struct stat status = {};
    if (fstat(fd, &status) != 0) return;
    device_ = status.st_dev;
    inode_ = status.st_ino;
    length_ = status.st_size;
  }

  friend bool operator==(const FileEnd&, const FileEnd&) = default;

 private:
  dev_t device_ = 0;
  ino_t inode_ = 0;
  off_t length_ = 0;
};

}  // namespace headgate
