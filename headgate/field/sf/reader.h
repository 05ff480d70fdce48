// Reads the grammar of RFC 9651 (section 4.2) step by step, as views of the caller's bytes.
//
//   Reader r(text);
//   for (bool more = r.first_member(); more; more = r.next_member()) {
//     RawItem item;
//     if (!r.bare_item(item)) break;
//     for (RawParameter p; r.parameter(p);) ...
//   }
//   if (!r.ok()) ... r.error()
//
// A reader does not allocate or recurse, and takes linear time. After an error every step returns
// false, so checking ok() once, at the end, is enough. Duplicate keys are returned as they come;
// the caller applies the rule of RFC 9651 that the last one counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "headgate/field/sf/value.h"

namespace headgate::field::sf {

enum class Type : std::uint8_t {
  integer,
  decimal,
  string,
  token,
  bytes,
  boolean,
  date,
  display_string,
};

// A bare item as a view of the input.
struct RawItem {
  Type type = Type::integer;
  std::int64_t number = 0;  // integer; thousandths of a decimal; seconds of a date; boolean 0 or 1
  std::string_view text;    // the other types: still encoded, without delimiters
};

struct RawParameter {
  std::string_view key;
  RawItem value;
};

// Returns the text of a String or Token, the bytes of a Byte Sequence, or the UTF-8 of a Display
// String. The item must have one of these types and come from a Reader. May throw std::bad_alloc.
[[nodiscard]] std::string decoded(const RawItem& item);

class Reader {
 public:
  explicit Reader(std::string_view input) noexcept
      : begin_(input.data()), at_(input.data()), end_(input.data() + input.size()) {}

  // Moves to the first or next member of a List or Dictionary; returns false at the end of the
  // input. The previous member must have been read completely, with its parameters.
  [[nodiscard]] bool first_member() noexcept;
  [[nodiscard]] bool next_member() noexcept;

  // Reads the key of a Dictionary's member; then has_value() reads "=" if a value follows (without
  // one, the value is true).
  [[nodiscard]] bool key(std::string_view& key) noexcept;
  [[nodiscard]] bool has_value() noexcept { return take('='); }

  // Enters an Inner List if one starts here. first_ and next_inner_item() move to its items, and
  // return false after the last; then the list's parameters may follow.
  [[nodiscard]] bool at_inner_list() const noexcept { return at('('); }
  [[nodiscard]] bool enter_inner_list() noexcept { return take('('); }
  [[nodiscard]] bool first_inner_item() noexcept;
  [[nodiscard]] bool next_inner_item() noexcept;

  [[nodiscard]] bool bare_item(RawItem& item) noexcept;

  // Reads the next parameter of what was just read; returns false if there is none.
  [[nodiscard]] bool parameter(RawParameter& parameter) noexcept;

  // Skips a value (item or inner list) with its parameters, or only parameters.
  bool skip_value() noexcept;
  void skip_parameters() noexcept;

  // To call before and after a single Item: skip the spaces around it; item_end() returns false if
  // anything else follows.
  void item_start() noexcept { skip_spaces(); }
  bool item_end() noexcept;

  // How many bytes were read so far.
  [[nodiscard]] std::size_t offset() const noexcept {
    return static_cast<std::size_t>(at_ - begin_);
  }

  // The offset of a view that this reader returned.
  [[nodiscard]] std::size_t offset_of(std::string_view part) const noexcept {
    return static_cast<std::size_t>(part.data() - begin_);
  }

  [[nodiscard]] bool ok() const noexcept { return error_.what == nullptr; }
  [[nodiscard]] const Error& error() const noexcept { return error_; }  // of a failed reader

 private:
  bool fail(const char* what) noexcept;
  [[nodiscard]] bool at_end() const noexcept { return at_ == end_; }
  [[nodiscard]] bool at(char c) const noexcept { return at_ != end_ && *at_ == c; }
  bool take(char c) noexcept {
    if (!at(c)) return false;
    ++at_;
    return true;
  }
  void skip_spaces() noexcept {
    while (at(' ')) ++at_;
  }
  void skip_optional_whitespace() noexcept {
    while (at(' ') || at('\t')) ++at_;
  }
  bool number(RawItem& item) noexcept;
  bool string(RawItem& item) noexcept;
  bool token(RawItem& item) noexcept;
  bool bytes(RawItem& item) noexcept;
  bool boolean(RawItem& item) noexcept;
  bool date(RawItem& item) noexcept;
  bool display_string(RawItem& item) noexcept;

  const char* begin_;
  const char* at_;
  const char* end_;
  Error error_{nullptr, 0};
};

}  // namespace headgate::field::sf
