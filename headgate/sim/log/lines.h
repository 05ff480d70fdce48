// Lines of a file of any size, in bounded memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/base/result.h"
#include "headgate/sim/log/source.h"

namespace headgate::sim {

// The longest line that is read [bytes], far above what servers log of one request. The rest of a
// longer line is dropped, and Line::cut is set.
inline constexpr std::size_t line_bytes_max = std::size_t{1} << 20;

struct Line {
  std::string_view text;   // without its end ("\n" or "\r\n"); valid until the next call
  std::size_t number = 0;  // from 1
  bool cut = false;        // longer than line_bytes_max
};

// Not thread-safe.
class Lines {
 public:
  // Same arguments and errors as Source::open().
  [[nodiscard]] static Result<Lines, std::string> open(const std::string& path);

  // Returns false at the end of the file, or after a read error, which error() then returns.
  [[nodiscard]] bool next(Line& line);

  // Returns the next lines without reading them: as many whole lines as are buffered, but at least
  // one if there is one.
  [[nodiscard]] std::string_view peek();

  [[nodiscard]] const std::string& error() const noexcept { return source_.error(); }
  [[nodiscard]] const Source& source() const noexcept { return source_; }

 private:
  explicit Lines(Source source);

  bool fill();
  Line make_line(const char* from, const char* to) noexcept;
  bool next_long(Line& line);

  Source source_;
  std::vector<char> buffer_;  // [begin_, end_) has not been returned yet
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::size_t number_ = 0;
};

}  // namespace headgate::sim
