#include "headgate/sim/log/lines.h"

#include <cstring>
#include <utility>

namespace headgate::sim {
namespace {

// The buffer has room for the longest line and for the next read.
constexpr std::size_t buffer_bytes = line_bytes_max + (std::size_t{1} << 16);

const char* find_end(const char* from, const char* to) noexcept {
  return static_cast<const char*>(std::memchr(from, '\n', static_cast<std::size_t>(to - from)));
}

}  // namespace

Lines::Lines(Source source) : source_(std::move(source)), buffer_(buffer_bytes) {}

Result<Lines, std::string> Lines::open(const std::string& path) {
  auto source = Source::open(path);
  if (!source) return Failure<std::string>(source.error());
  return Lines(std::move(*source));
}

bool Lines::next(Line& line) {
  std::size_t searched = 0;
  for (;;) {
    const char* const from = buffer_.data() + begin_;
    const char* const to = buffer_.data() + end_;
    if (const char* end = find_end(from + searched, to)) {
      line = make_line(from, end);
      begin_ += static_cast<std::size_t>(end - from) + 1;
      return true;
    }
    searched = end_ - begin_;
    if (searched > line_bytes_max + 1) return next_long(line);
    if (fill()) continue;
    if (searched == 0 || !error().empty()) return false;
    line = make_line(buffer_.data() + begin_, buffer_.data() + end_);
    begin_ = end_;
    return true;
  }
}

Line Lines::make_line(const char* from, const char* to) noexcept {
  if (from != to && to[-1] == '\r') --to;
  const std::string_view text(from, static_cast<std::size_t>(to - from));
  return {text.substr(0, line_bytes_max), ++number_, text.size() > line_bytes_max};
}

std::string_view Lines::peek() {
  for (;;) {
    const std::string_view all(buffer_.data() + begin_, end_ - begin_);
    if (const std::size_t end = all.rfind('\n'); end != all.npos) return all.substr(0, end + 1);
    if (all.size() == buffer_.size() || !fill()) return all;
  }
}

// Appends more bytes to the buffer. Returns false at the end.
bool Lines::fill() {
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  const std::size_t n = source_.read(std::span(buffer_).subspan(end_));
  end_ += n;
  return n > 0;
}

// The buffer begins with a line that is too long: keeps its first bytes and reads past the rest of
// the line.
bool Lines::next_long(Line& line) {
  std::memmove(buffer_.data(), buffer_.data() + begin_, line_bytes_max);
  const std::span<char> behind = std::span(buffer_).subspan(line_bytes_max);
  for (;;) {
    const std::size_t n = source_.read(behind);
    if (!error().empty()) return false;
    const char* const end = find_end(behind.data(), behind.data() + n);
    if (n > 0 && end == nullptr) continue;
    line = {{buffer_.data(), line_bytes_max}, ++number_, true};
    end_ = line_bytes_max + n;
    begin_ = end == nullptr ? end_ : static_cast<std::size_t>(end + 1 - buffer_.data());
    return true;
  }
}

}  // namespace headgate::sim
