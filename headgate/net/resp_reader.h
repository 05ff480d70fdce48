// Reads commands as Redis clients send them (RESP2 and RESP3 alike): arrays of bulk strings, and
// inline commands as people type them. No I/O: bytes in, commands out.
//
//   while ((found = reader.read(bytes)) == RespReader::Found::command) {
//     answer(reader.arguments());
//     bytes.remove_prefix(reader.used());
//   }
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headgate::net {

struct RespLimits {
  std::size_t arguments_max = 1024;                 // of one command, its name included
  std::size_t command_max = std::size_t{64} << 10;  // one command as it is on the wire [bytes]
};

// One connection's. Every byte is looked at once, however the stream is cut. Allocates only until
// it has seen the longest commands, and never more than the limits allow. Not thread-safe.
class RespReader {
 public:
  explicit RespReader(const RespLimits& limits = {}) noexcept : limits_(limits) {}

  enum class Found : std::uint8_t {
    more,     // no whole command; used() bytes are done with (there may be empty commands)
    command,  // arguments() and used()
    fault,    // fault(); nothing behind it can be understood
  };

  // Reads up to the end of the first command of `bytes`. They begin where the last command ended
  // or, after `more`, hold again what was not done with, perhaps elsewhere, and more behind it.
  [[nodiscard]] Found read(std::string_view bytes);

  // The command, its name first; never empty. Views into `bytes`, or of an inline command into the
  // reader: valid until the next read().
  [[nodiscard]] std::span<const std::string_view> arguments() const noexcept { return arguments_; }

  // Bytes at the beginning of what was read that are done with.
  [[nodiscard]] std::size_t used() const noexcept { return used_; }

  // What is wrong, as Redis words it: "Protocol error: ...".
  [[nodiscard]] const std::string& fault() const noexcept { return fault_; }

 private:
  struct Slice {
    std::uint32_t begin;  // from the command's first byte
    std::uint32_t size;
  };
  enum class Line : std::uint8_t { more, number, malformed };

  static Line read_header(std::string_view bytes, std::size_t& at, std::int64_t& number) noexcept;
  Found read_array(std::string_view bytes);
  Found read_element(std::string_view bytes);
  Found read_inline(std::string_view bytes);
  bool split(std::string_view line);
  bool unquote(std::string_view line, std::size_t& at);
  Found fail(std::string_view why);

  RespLimits limits_;
  std::vector<std::string_view> arguments_;
  std::size_t used_ = 0;

  // Of the command that is being read.
  std::size_t at_ = 0;         // bytes of it that have been looked at
  std::int64_t expected_ = 0;  // elements of its array that are still to come
  std::vector<Slice> elements_;
  std::string inline_text_;  // arguments of an inline command, one behind the other

  std::string fault_;
};

}  // namespace headgate::net
