#include "headgate/nginx/pipe_hold.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <utility>

namespace headgate::nginx {
namespace {

// Pipes without a name, to which links such as /dev/stdout lead, are left alone: opening them never
// waits, and their other writers, which may block, have to notice that the reader has gone.
bool is_named_pipe(const char* path) noexcept {
  struct stat file {};
  struct statfs system {};
  return stat(path, &file) == 0 && S_ISFIFO(file.st_mode) && statfs(path, &system) == 0 &&
         system.f_type != PIPEFS_MAGIC;
}

}  // namespace

PipeHold::~PipeHold() {
  if (fd_ >= 0) close(fd_);
}

void PipeHold::hold(const char* path) noexcept {
  const int fd = is_named_pipe(path) ? open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC) : -1;
  const int before = std::exchange(fd_, fd);
  if (before >= 0) close(before);
}

}  // namespace headgate::nginx
