// Reads JSON (RFC 8259) for those who know what to expect: a pull parser over the caller's bytes.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace headgate::server {

// Each method reads one thing, with the white space before it, or fails. After a failure all others
// fail, and fault() is the first one.
//
//   in.open('{');
//   while (in.more('}')) { const auto name = in.name(); ... }
//   if (!in.end()) complain(in.fault());
//
// No recursion, so depth is the caller's; linear; allocates only to let the buffer of strings grow.
class JsonReader {
 public:
  struct Fault {
    std::size_t at = 0;  // byte of the text, from 0
    std::string_view expected;
  };

  // Strings are put into `strings`, behind what is there; they are valid as long as it does not
  // move, so let its capacity be that of the text.
  JsonReader(std::string_view text, std::string& strings) noexcept
      : text_(text), strings_(strings) {}

  // '{' or '['; then, before each member or element and at the end, whether there is another one.
  bool open(char bracket) noexcept;
  bool more(char closing) noexcept;

  // A string, unescaped, in UTF-8.
  std::optional<std::string_view> string();
  // A member's name and its colon.
  std::optional<std::string_view> name();
  // The text of a number.
  std::optional<std::string_view> number() noexcept;

  // That nothing follows.
  bool end() noexcept;

  // Where the next thing begins.
  [[nodiscard]] std::size_t at() noexcept;
  // Where the last string, name or number began.
  [[nodiscard]] std::size_t last() const noexcept { return last_; }

  // Complains of what was read.
  void fail(std::size_t at, std::string_view expected) noexcept;
  [[nodiscard]] const std::optional<Fault>& fault() const noexcept { return fault_; }

 private:
  [[nodiscard]] bool sees(char c) noexcept { return at() < text_.size() && text_[at_] == c; }
  bool fail_here(std::string_view expected) noexcept;
  bool escape();
  std::optional<unsigned> hex4() noexcept;

  std::string_view text_;
  std::string& strings_;
  std::size_t at_ = 0;
  std::size_t last_ = 0;
  bool first_ = false;  // a bracket was just opened
  std::optional<Fault> fault_;
};

}  // namespace headgate::server
