// Finds a number in the JSON of a response's body, which passes in pieces.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace headgate::policy {

// Reads a JSON text (RFC 8259), several of them one after the other, or the data of server-sent
// events, each event a text of its own; the first byte tells which. The elements of an outermost
// list are texts, too. The last text that has the member counts, and within it the last member of
// that name.
//
// The number is a whole one, in digits: 312, and neither "312" nor 312.0. Names with escapes are
// not found, and neither is anything in a text that is malformed before it or deeper than 64.
//
// Constant memory, constant time per byte, whatever comes; no allocation. Any pieces give the same
// result. Not thread-safe.
class ResponseNumber {
 public:
  // `path`: names with dots between them, such as usage.total_tokens, each at least one byte. It
  // outlives this.
  explicit ResponseNumber(std::string_view path) noexcept : path_(path) {}

  void read(std::string_view piece) noexcept;

  // At most limit::Quota::cost_max; std::nullopt: not found so far.
  [[nodiscard]] std::optional<std::uint64_t> number() const noexcept { return found_; }

 private:
  static constexpr unsigned depth_max = 64;

  enum class Form : std::uint8_t { unknown, json, events };
  // In a line of events.
  enum class Line : std::uint8_t { name, space, data, other };
  // What may come next in the JSON.
  enum class Next : std::uint8_t {
    value,
    value_or_end,  // after [
    name,
    name_or_end,  // after {
    colon,
    comma_or_end,
    rest_of_string,
    rest_of_word,  // a number, true, false or null
    nothing,       // the text is malformed
  };

  void event_byte(char c) noexcept;
  void json_byte(char c) noexcept;
  void begin_text() noexcept;
  void begin_string(bool is_name) noexcept;
  void string_byte(char c) noexcept;
  void begin_word(char c) noexcept;
  void word_byte(char c) noexcept;
  void end_word() noexcept;
  void open(bool object) noexcept;
  void close(bool object) noexcept;
  void fail() noexcept { next_ = Next::nothing; }
  void end_value() noexcept { next_ = depth_ > 0 ? Next::comma_or_end : Next::value; }
  [[nodiscard]] std::string_view name() const noexcept;
  [[nodiscard]] bool in_object() const noexcept { return (objects_ >> (depth_ - 1) & 1) != 0; }

  std::string_view path_;
  std::optional<std::uint64_t> found_;
  std::uint64_t word_ = 0;     // the digits so far
  std::uint64_t objects_ = 0;  // bit d - 1: at depth d is an object, not a list
  // How many of the open brackets, from the outermost on, are an outermost list or objects that the
  // path goes through; `name_at_` is where the path's name for a member of the innermost of them
  // begins.
  std::uint8_t on_path_ = 0;
  std::uint8_t depth_ = 0;
  std::uint8_t name_at_ = 0;
  std::uint8_t compared_ = 0;   // bytes of a member's name that are equal to the path's
  std::uint8_t line_name_ = 0;  // bytes of an event's line that are equal to "data"
  bool is_name_ = false;        // of a string: it is a member's name
  bool equal_ = false;          // that name is the path's so far
  bool hit_ = false;            // the next value is that of the path's name
  bool counts_ = false;         // of a word: it is the number, if all of it is digits
  bool escaped_ = false;        // of a string: the last byte was a backslash
  bool after_return_ = false;   // the last byte of events was a carriage return
  Next next_ = Next::value;
  Form form_ = Form::unknown;
  Line line_ = Line::name;
  bool line_is_empty_ = true;
};

}  // namespace headgate::policy
