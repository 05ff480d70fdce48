// Writes commands, and replies in the forms of RESP2 or RESP3.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace headgate::net {

enum class RespVersion : std::uint8_t { resp2 = 2, resp3 = 3 };

// Appends to a text of the caller, which must outlive the writer. A type that RESP2 lacks is
// written as Redis writes it in RESP2. array(), set() and map() write only the number of values,
// which the caller then writes. All functions may throw std::bad_alloc. Not thread-safe.
class RespWriter {
 public:
  explicit RespWriter(std::string& out, RespVersion version = RespVersion::resp2) noexcept
      : out_(out), version_(version) {}

  // The version of the replies from here on.
  void set_version(RespVersion version) noexcept { version_ = version; }
  [[nodiscard]] RespVersion version() const noexcept { return version_; }

  // CR and LF inside the text become spaces.
  void simple(std::string_view text);  // +OK
  void error(std::string_view text);   // -ERR ...; the text begins with a word in capitals

  void integer(std::int64_t value) { number(':', value); }
  void integers(std::span<const std::int64_t> values);  // an array of integers
  void bulk(std::string_view text);
  void real(double value);  // RESP2: a bulk string
  void null();

  void array(std::size_t values) { number('*', static_cast<std::int64_t>(values)); }
  void set(std::size_t values) { aggregate('~', values, 1); }  // RESP2: an array
  void map(std::size_t pairs) {
    aggregate('%', pairs, 2);
  }  // RESP2: an array of keys and values in turn

  // A command as clients send it: an array of its words.
  void command(std::initializer_list<std::string_view> words) {
    command(std::span(words.begin(), words.size()));
  }
  void command(std::span<const std::string_view> words);

 private:
  void number(char type, std::int64_t value);
  void aggregate(char type, std::size_t values, std::size_t each);
  void line(char type, std::string_view text);

  std::string& out_;
  RespVersion version_;
};

}  // namespace headgate::net
