// Lines of a file of any size, in bounded memory.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

#include "headgate/base/result.h"

namespace headgate::sim {

// The longest line that is read; what a longer one holds beyond it is dropped and said so.
inline constexpr std::size_t line_bytes_max = std::size_t{1} << 20;

struct Line {
  std::string_view text;   // without its end ("\n" or "\r\n"); valid until the next call
  std::size_t number = 0;  // from 1
  bool cut = false;        // longer than line_bytes_max
};

// Not thread-safe.
class Lines {
 public:
  // "-" is standard input. The error says in words why the file can't be read.
  [[nodiscard]] static Result<Lines, std::string> open(const std::string& path);

  Lines(Lines&& other) noexcept;
  Lines& operator=(Lines&&) = delete;
  ~Lines();

  // False at the end of the file, or at a read error, which error() then tells.
  [[nodiscard]] bool next(Line& line);

  // The line that next() will give.
  [[nodiscard]] bool peek(Line& line);

  [[nodiscard]] const std::string& error() const noexcept { return error_; }

 private:
  explicit Lines(std::FILE* file) noexcept : file_(file) {}

  bool read();

  std::FILE* file_;
  std::string text_;
  std::string error_;
  std::size_t number_ = 0;
  bool cut_ = false;
  bool peeked_ = false;
};

}  // namespace headgate::sim
