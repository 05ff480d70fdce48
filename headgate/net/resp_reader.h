// Reads the commands of Redis clients (the same in RESP2 and RESP3): arrays of bulk strings, and
// inline commands such as people type. No I/O: bytes in, commands out.
//
//   RespWords words;
//   RespReader reader(words);
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
  // The most arguments of one command, its name included: far more than any command of ours has,
  // few enough that their views take little memory.
  std::size_t arguments_max = 1024;
  // The longest command on the wire [bytes]: keys are short, and this bounds a connection's buffer.
  std::size_t command_max = std::size_t{64} << 10;
};

// The words of a command: up to 1024 views, and up to 64 KiB of text if it was an inline command.
// All readers of a thread can share it, so that connections do not keep that much each.
struct RespWords {
  std::vector<std::string_view> all;
  std::string inline_text;
};

// One per connection. Scans each byte once, however the stream is cut into chunks. Reuses its
// memory; that of a command with more words than usual is released before the next one. Not
// thread-safe.
class RespReader {
 public:
  // `words` outlives this.
  explicit RespReader(RespWords& words, const RespLimits& limits = {}) noexcept
      : limits_(limits), words_(words) {}

  enum class Found : std::uint8_t {
    more,     // no complete command; used() bytes were empty commands
    command,  // arguments() and used() are set
    fault,    // fault() is set; the rest of the stream cannot be read
  };

  // Reads up to the end of the first command of `bytes`. `bytes` begin where the last command
  // ended; after `more`, they begin with the unused bytes of the last call (at any address),
  // followed by newly received ones. May throw std::bad_alloc.
  [[nodiscard]] Found read(std::string_view bytes);

  // The command, its name first; never empty. Views into `bytes` or, for an inline command, into
  // the words; valid until the next read() of any reader with the same words.
  [[nodiscard]] std::span<const std::string_view> arguments() const noexcept { return words_.all; }

  // How many bytes at the beginning of `bytes` are consumed.
  [[nodiscard]] std::size_t used() const noexcept { return used_; }

  // The error, in the words of Redis: "Protocol error: ...".
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
  RespWords& words_;
  std::size_t used_ = 0;

  // State of the command that is being read.
  std::size_t at_ = 0;         // bytes of it that were scanned
  std::int64_t expected_ = 0;  // elements of its array that are still missing
  std::vector<Slice> elements_;

  std::string fault_;
};

}  // namespace headgate::net
