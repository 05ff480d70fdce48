#include "headgate/sim/lines.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace headgate::sim {

Result<Lines, std::string> Lines::open(const std::string& path) {
  if (path == "-") return Lines(stdin);
  std::FILE* file = std::fopen(path.c_str(), "re");
  if (file == nullptr) return Failure<std::string>(std::strerror(errno));
  struct stat about {};
  if (fstat(fileno(file), &about) == 0 && S_ISDIR(about.st_mode)) {
    std::fclose(file);
    return Failure<std::string>(std::strerror(EISDIR));
  }
  return Lines(file);
}

Lines::Lines(Lines&& other) noexcept
    : file_(std::exchange(other.file_, nullptr)),
      text_(std::move(other.text_)),
      error_(std::move(other.error_)),
      number_(other.number_),
      cut_(other.cut_),
      peeked_(other.peeked_) {}

Lines::~Lines() {
  if (file_ != nullptr && file_ != stdin) std::fclose(file_);
}

bool Lines::next(Line& line) {
  if (!peek(line)) return false;
  peeked_ = false;
  return true;
}

bool Lines::peek(Line& line) {
  if (!peeked_ && !read()) return false;
  peeked_ = true;
  line = {text_, number_, cut_};
  return true;
}

bool Lines::read() {
  text_.clear();
  cut_ = false;
  bool any = false;
  for (int c; (c = getc_unlocked(file_)) != EOF;) {
    any = true;
    if (c == '\n') break;
    if (text_.size() < line_bytes_max) {
      text_.push_back(static_cast<char>(c));
    } else {
      cut_ = true;
    }
  }
  if (std::ferror(file_) != 0) {
    error_ = std::strerror(errno);
    return false;
  }
  if (!any) return false;
  if (!text_.empty() && text_.back() == '\r') text_.pop_back();
  ++number_;
  return true;
}

}  // namespace headgate::sim
