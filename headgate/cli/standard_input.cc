#include "headgate/cli/standard_input.h"

#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <system_error>

#include "headgate/base/patient_read.h"

namespace headgate::cli {

StandardInput::Buffer::int_type StandardInput::Buffer::underflow() {
  const ssize_t count = patient_read(STDIN_FILENO, bytes_);
  if (count < 0) {
    error = std::generic_category().message(errno);
    throw std::ios_base::failure(error);  // which makes the stream bad
  }
  setg(bytes_.data(), bytes_.data(), bytes_.data() + count);
  return count == 0 ? traits_type::eof() : traits_type::to_int_type(bytes_[0]);
}

Result<std::string, std::string> read_standard_input(std::size_t size_max) {
  std::string text;
  std::array<char, 65'536> block;
  while (text.size() <= size_max) {
    const std::size_t wanted = std::min(block.size(), size_max + 1 - text.size());
    const ssize_t count = patient_read(STDIN_FILENO, std::span(block).first(wanted));
    if (count < 0) {
      return Failure<std::string>("can't be read: " + std::generic_category().message(errno));
    }
    if (count == 0) break;
    text.append(block.data(), static_cast<std::size_t>(count));
  }
  return text;
}

}  // namespace headgate::cli
