// Takes a flat JSON object apart, member by member, without keeping it.
#pragma once

#include <string>
#include <string_view>

namespace headgate::sim {

// Reads what RFC 8259 calls an object, leniently: bytes that are no UTF-8 pass as they are, and
// what is nested is only skipped. Linear, whatever the bytes.
class JsonScanner {
 public:
  // `texts` takes strings that had escapes, and must have room for as many bytes as `line` has.
  JsonScanner(std::string_view line, std::string& texts) noexcept : left_(line), texts_(texts) {}

  // Before the first member.
  [[nodiscard]] bool begin() noexcept;

  // The next member: its name, and its value as text: of a string what it says, of a number its
  // digits, "true" and "false"; `has_text` is false of null and of what is nested. False at the end
  // and at the first thing that is not JSON; done() tells them apart.
  [[nodiscard]] bool next(std::string_view& name, std::string_view& value, bool& has_text);

  // The object has ended, and nothing followed.
  [[nodiscard]] bool done() const noexcept { return done_; }

 private:
  void skip_space() noexcept;
  bool take(char c) noexcept;
  bool take_string(std::string_view& out);
  bool take_escape();
  bool take_hex(unsigned& code) noexcept;
  bool skip_nested() noexcept;
  void append(unsigned code);

  std::string_view left_;
  std::string& texts_;
  bool first_ = true;
  bool done_ = false;
};

}  // namespace headgate::sim
