// Standard input, of which a read that fails is not taken for the end.
#pragma once

#include <array>
#include <cstddef>
#include <istream>
#include <streambuf>
#include <string>

#include "headgate/base/result.h"

namespace headgate::cli {

// Used instead of std::cin, for which a read that fails is the end of the input. A process makes
// only one, because it reads ahead. Not thread-safe.
class StandardInput : public std::istream {
 public:
  StandardInput() : std::istream(nullptr) { rdbuf(&buffer_); }

  // If the stream is bad(): why, such as "Is a directory".
  [[nodiscard]] const std::string& error() const noexcept { return buffer_.error; }

 private:
  class Buffer : public std::streambuf {
   public:
    std::string error;

   protected:
    int_type underflow() override;

   private:
    std::array<char, 65'536> bytes_;
  };

  Buffer buffer_;
};

// Returns all of standard input, of a longer one the first size_max + 1 bytes. Errors: as those of
// read_regular_file(). Throws std::bad_alloc.
[[nodiscard]] Result<std::string, std::string> read_standard_input(std::size_t size_max);

}  // namespace headgate::cli
