// Reads JSON (RFC 8259) value by value: a pull scanner over the caller's bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace headgate {

// The caller calls the method for the value that it expects. Each method skips white space, then
// reads one thing or fails. After a failure all methods fail; fault() is the first one.
//
//   in.open('{');
//   while (in.more('}')) { const auto name = in.name(); ... }
//   if (!in.end()) report(in.fault());
//
// No recursion: the caller bounds the depth that it opens, and skip() takes constant memory at any
// depth. Linear time. Allocates only if the buffer of strings grows. Not thread-safe.
class JsonScanner {
 public:
  struct Fault {
    std::size_t at = 0;         // byte of the text, from 0
    std::string_view expected;  // what was expected there, such as "a string"; static storage
  };

  // What a string may contain. Logs are read with any_bytes: they repeat what clients sent.
  enum class Strings : std::uint8_t {
    strict,     // valid UTF-8 without control characters; escaped surrogates only in pairs
    any_bytes,  // any bytes, copied as they are; a single surrogate becomes three bytes
  };

  // Strings with escapes are unescaped into `buffer`, behind its content. The results of string()
  // and name() are views of `text` or of the buffer, so the buffer must not move: give it the
  // capacity of the text.
  JsonScanner(std::string_view text, std::string& buffer,
              Strings strings = Strings::strict) noexcept
      : text_(text), buffer_(buffer), strings_(strings) {}

  // open() reads '{' or '['. more() then returns, before each member or element and at the end,
  // whether there is another one; it reads the comma or the closing bracket.
  bool open(char bracket) noexcept;
  bool more(char closing) noexcept;

  // Reads a string and returns it without its escapes.
  std::optional<std::string_view> string();
  // Reads a member's name and its colon.
  std::optional<std::string_view> name();
  // Reads a number by JSON's grammar and returns its text.
  std::optional<std::string_view> number() noexcept;
  // Reads the bytes up to white space, ',', '}' or ']'. Any bytes, perhaps none: the caller checks
  // whether they are a literal or a number of the form that it allows.
  std::optional<std::string_view> word() noexcept;
  // Reads an object or a list without looking into it: checks only that its strings end and that as
  // many brackets close as open.
  bool skip() noexcept;

  // Fails unless only white space follows.
  bool end() noexcept;

  // Returns whether the next byte is `c`.
  [[nodiscard]] bool sees(char c) noexcept { return at() < text_.size() && text_[at_] == c; }
  // Returns where the next thing begins.
  [[nodiscard]] std::size_t at() noexcept;
  // Returns where the last string, name or number began.
  [[nodiscard]] std::size_t last() const noexcept { return last_; }

  // Records a failure of the caller's own, unless there was one before.
  void fail(std::size_t at, std::string_view expected) noexcept;
  [[nodiscard]] const std::optional<Fault>& fault() const noexcept { return fault_; }

 private:
  bool fail_here(std::string_view expected) noexcept;
  bool escape();
  std::optional<unsigned> code_point() noexcept;
  std::optional<unsigned> hex4() noexcept;

  std::string_view text_;
  std::string& buffer_;
  Strings strings_;
  std::size_t at_ = 0;
  std::size_t last_ = 0;
  bool first_ = false;  // a bracket was just opened
  std::optional<Fault> fault_;
};

}  // namespace headgate
