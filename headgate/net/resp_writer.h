// Writes replies as RESP2 or RESP3 clients read them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace headgate::net {

enum class RespVersion : std::uint8_t { resp2 = 2, resp3 = 3 };

// Appends to a text of the caller's, which outlives it. What RESP2 has no type for is written as
// Redis writes it there. Aggregates announce how many values follow.
class RespWriter {
 public:
  explicit RespWriter(std::string& out, RespVersion version = RespVersion::resp2) noexcept
      : out_(out), version_(version) {}

  // Goes on in another version.
  void speak(RespVersion version) noexcept { version_ = version; }

  // Line ends inside become spaces.
  void simple(std::string_view text);  // +OK
  void error(std::string_view text);   // -ERR ...; begins with a word in capitals

  void integer(std::int64_t value) { number(':', value); }
  void integers(std::span<const std::int64_t> values);  // an array of them
  void bulk(std::string_view text);
  void real(double value);  // RESP2: a bulk string
  void null();

  void array(std::size_t values) { number('*', static_cast<std::int64_t>(values)); }
  void set(std::size_t values) { aggregate('~', values, 1); }  // RESP2: an array
  void map(std::size_t pairs) { aggregate('%', pairs, 2); }    // RESP2: an array of both in turn

 private:
  void number(char type, std::int64_t value);
  void aggregate(char type, std::size_t values, std::size_t each);
  void line(char type, std::string_view text);

  std::string& out_;
  RespVersion version_;
};

}  // namespace headgate::net
