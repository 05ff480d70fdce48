// The grammar of RFC 9651 (section 4.2) as a pull reader over the caller's bytes.
//
//   Reader r(text);
//   for (bool more = r.first_member(); more; more = r.next_member()) {
//     RawItem item;
//     if (!r.bare_item(item)) break;
//     for (RawParameter p; r.parameter(p);) ...
//   }
//   if (!r.ok()) ... r.error()
//
// It allocates nothing, looks at each byte a fixed number of times and does not recurse. A reader
// that failed stays failed: every later step answers false, so checking ok() once, at the end, is
// enough. Duplicate keys are reported as they come; RFC 9651 lets the last one win.
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

// A bare item where it stands in the input.
struct RawItem {
  Type type = Type::integer;
  std::int64_t number = 0;  // integer; thousandths; seconds; 0 or 1 of a boolean
  std::string_view text;    // of the other types: still encoded, without its delimiters
};

struct RawParameter {
  std::string_view key;
  RawItem value;
};

// The text of a String, the bytes of a Byte Sequence, the UTF-8 of a Display String, a Token as it
// is; allocates. Needs an item of one of these types that came from a Reader.
[[nodiscard]] std::string decoded(const RawItem& item);

class Reader {
 public:
  explicit Reader(std::string_view input) noexcept
      : begin_(input.data()), at_(input.data()), end_(input.data() + input.size()) {}

  // Moves to the first or next member of a List or Dictionary; false at the end of the input.
  // The member before has been read whole, with its parameters.
  [[nodiscard]] bool first_member() noexcept;
  [[nodiscard]] bool next_member() noexcept;

  // The key of a Dictionary's member; then, whether a value follows (else the value is true).
  [[nodiscard]] bool key(std::string_view& key) noexcept;
  [[nodiscard]] bool has_value() noexcept { return take('='); }

  // If an Inner List starts here, enters it. Then its items come one by one: false after the last,
  // when its parameters may follow.
  [[nodiscard]] bool at_inner_list() const noexcept { return at('('); }
  [[nodiscard]] bool enter_inner_list() noexcept { return take('('); }
  [[nodiscard]] bool first_inner_item() noexcept;
  [[nodiscard]] bool next_inner_item() noexcept;

  [[nodiscard]] bool bare_item(RawItem& item) noexcept;

  // The next parameter of what has just been read; false when there is none.
  [[nodiscard]] bool parameter(RawParameter& parameter) noexcept;

  // A value (item or inner list) with all its parameters, unseen; or only the parameters.
  bool skip_value() noexcept;
  void skip_parameters() noexcept;

  // Around a single Item: spaces before it, and nothing but spaces after it.
  void item_start() noexcept { skip_spaces(); }
  bool item_end() noexcept;

  // Bytes read so far.
  [[nodiscard]] std::size_t offset() const noexcept {
    return static_cast<std::size_t>(at_ - begin_);
  }

  // Where a part of the input that this reader gave out stands.
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
