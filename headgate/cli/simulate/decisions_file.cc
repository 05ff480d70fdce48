#include "headgate/cli/simulate/decisions_file.h"

#include <cerrno>
#include <cstring>
#include <iostream>

namespace headgate::cli {

Result<void, std::string> DecisionsFile::open(const std::string& path) {
  path_ = path;
  if (path == "-") {
    std::ios::sync_with_stdio(false);
    stream_ = &std::cout;
  } else if (!path.empty()) {
    file_.open(path, std::ios::trunc | std::ios::binary);
    if (!file_) return Failure<std::string>(path + ": " + std::strerror(errno));
    stream_ = &file_;
  }
  return {};
}

std::ostream& DecisionsFile::summary() const noexcept {
  return stream_ == &std::cout ? std::cerr : std::cout;
}

Result<void, std::string> DecisionsFile::close() {
  if (stream_ == nullptr) return {};
  const bool good = stream_->good();
  if (stream_->flush()) return {};
  // The reason of a write that failed earlier is not known any more.
  return Failure<std::string>(
      path_ + (good ? std::string(": ") + std::strerror(errno) : " cannot be written"));
}

}  // namespace headgate::cli
