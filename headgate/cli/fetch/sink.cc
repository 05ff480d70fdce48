#include "headgate/cli/fetch/sink.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace headgate::cli {

FetchBody::~FetchBody() {
  if (!path_.empty()) unlink(path_.c_str());
  close(fd_);
}

bool FetchBody::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      error_ = std::strerror(errno);
      return false;
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
    bytes_ += static_cast<std::size_t>(written);
  }
  return true;
}

}  // namespace headgate::cli
