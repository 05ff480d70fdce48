#include "headgate/base/json_scanner.h"

#include <algorithm>

#include "headgate/base/ascii.h"
#include "headgate/base/utf8.h"

namespace headgate {
namespace {

constexpr bool is_high_surrogate(unsigned code) noexcept { return code >= 0xd800 && code < 0xdc00; }
constexpr bool is_low_surrogate(unsigned code) noexcept { return code >= 0xdc00 && code < 0xe000; }

// Appends a code point as UTF-8, which takes no more bytes than its escape.
void append_utf8(std::string& out, unsigned code) {
  const auto put = [&out](unsigned byte) { out.push_back(static_cast<char>(byte)); };
  if (code < 0x80) return put(code);
  if (code < 0x800) {
    put(0xc0 | code >> 6);
  } else if (code < 0x10000) {
    put(0xe0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3f));
  } else {
    put(0xf0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3f));
    put(0x80 | (code >> 6 & 0x3f));
  }
  put(0x80 | (code & 0x3f));
}

}  // namespace

std::size_t JsonScanner::at() noexcept {
  while (at_ < text_.size() &&
         (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) {
    ++at_;
  }
  return at_;
}

void JsonScanner::fail(std::size_t at, std::string_view expected) noexcept {
  if (!fault_) fault_ = {at, expected};
}

bool JsonScanner::fail_here(std::string_view expected) noexcept {
  fail(at_, expected);
  return false;
}

bool JsonScanner::open(char bracket) noexcept {
  if (fault_) return false;
  if (!sees(bracket)) return fail_here(bracket == '{' ? "an object" : "a list");
  ++at_;
  first_ = true;
  return true;
}

bool JsonScanner::more(char closing) noexcept {
  if (fault_) return false;
  const bool first = first_;
  first_ = false;
  if (sees(closing)) {
    ++at_;
    return false;
  }
  if (first) return true;
  if (!sees(',')) return fail_here(closing == '}' ? "',' or '}'" : "',' or ']'");
  ++at_;
  return true;
}

std::optional<std::string_view> JsonScanner::name() {
  if (fault_) return std::nullopt;
  if (!sees('"')) {
    fail_here("a member's name in quotes");
    return std::nullopt;
  }
  const auto name = string();
  if (!name) return std::nullopt;
  if (!sees(':')) {
    fail_here("':'");
    return std::nullopt;
  }
  ++at_;
  return name;
}

std::optional<std::string_view> JsonScanner::string() {
  if (fault_) return std::nullopt;
  if (!sees('"')) {
    fail_here("a string");
    return std::nullopt;
  }
  const bool strict = strings_ == Strings::strict;
  const std::size_t begin = buffer_.size();
  bool has_escapes = false;
  last_ = at_++;
  std::size_t plain = at_;  // where the bytes begin that are not in the buffer yet
  Utf8Check utf8;
  for (; at_ < text_.size(); ++at_) {
    const char c = text_[at_];
    if (c == '"') {
      if (!utf8.complete()) break;
      const std::string_view rest = text_.substr(plain, at_++ - plain);
      if (!has_escapes) return rest;
      buffer_.append(rest);
      return std::string_view(buffer_).substr(begin);
    }
    if (c == '\\') {
      if (!utf8.complete()) break;
      has_escapes = true;
      buffer_.append(text_.substr(plain, at_ - plain));
      if (!escape()) return std::nullopt;
      plain = at_ + 1;
      continue;
    }
    if (!strict) continue;
    if (static_cast<std::uint8_t>(c) < 0x20) {
      fail_here("an escaped control character");
      return std::nullopt;
    }
    if (!utf8.feed(static_cast<std::uint8_t>(c))) break;
  }
  fail_here(at_ == text_.size() ? "the string's closing quote" : "UTF-8");
  return std::nullopt;
}

// Called at a backslash; leaves at_ at the last character of its escape.
bool JsonScanner::escape() {
  constexpr std::string_view short_names = "\"\\/bfnrt";
  constexpr std::string_view short_values = "\"\\/\b\f\n\r\t";
  const std::size_t begin = at_++;
  if (at_ < text_.size()) {
    const std::size_t found = short_names.find(text_[at_]);
    if (found != std::string_view::npos) {
      buffer_.push_back(short_values[found]);
      return true;
    }
    if (text_[at_] == 'u') {
      if (const auto code = code_point()) {
        append_utf8(buffer_, *code);
        return true;
      }
    }
  }
  at_ = begin;
  return fail_here("an escape of JSON");
}

// Called at the 'u' of an escape; reads a second escape if the two are a pair of surrogates. Leaves
// at_ at the last digit.
std::optional<unsigned> JsonScanner::code_point() noexcept {
  const bool strict = strings_ == Strings::strict;
  const auto code = hex4();
  if (!code) return std::nullopt;
  if (is_high_surrogate(*code) && text_.substr(at_ + 1, 2) == "\\u") {
    const std::size_t end = at_;
    at_ += 2;
    const auto low = hex4();
    if (!low) return std::nullopt;
    if (is_low_surrogate(*low)) return 0x10000 + ((*code & 0x3ff) << 10) + (*low & 0x3ff);
    at_ = end;  // the second escape is read as one of its own
  }
  if (strict && (is_high_surrogate(*code) || is_low_surrogate(*code))) return std::nullopt;
  return code;
}

// Called at the 'u'; leaves at_ at the last digit.
std::optional<unsigned> JsonScanner::hex4() noexcept {
  unsigned code = 0;
  for (int i = 0; i < 4; ++i) {
    if (++at_ >= text_.size()) return std::nullopt;
    const int digit = hex_value(text_[at_]);
    if (digit < 0) return std::nullopt;
    code = code << 4 | static_cast<unsigned>(digit);
  }
  return code;
}

std::optional<std::string_view> JsonScanner::number() noexcept {
  if (fault_) return std::nullopt;
  last_ = at();
  std::size_t end = at_;
  const auto digits = [&] {
    const std::size_t begin = end;
    while (end < text_.size() && is_digit(text_[end])) ++end;
    return end - begin;
  };
  const auto skips = [&](std::string_view any) {
    if (end == text_.size() || any.find(text_[end]) == std::string_view::npos) return false;
    ++end;
    return true;
  };
  skips("-");
  const std::size_t whole = end;
  std::size_t count = digits();
  if (count > 1 && text_[whole] == '0') count = 0;  // no leading zeros
  if (count > 0 && skips(".")) count = digits();
  if (count > 0 && skips("eE")) {
    skips("+-");
    count = digits();
  }
  if (count == 0) {
    fail_here("a number");
    return std::nullopt;
  }
  const std::string_view number = text_.substr(at_, end - at_);
  at_ = end;
  return number;
}

std::optional<std::string_view> JsonScanner::word() noexcept {
  if (fault_) return std::nullopt;
  last_ = at();
  at_ = std::min(text_.find_first_of(" \t\n\r,}]", at_), text_.size());
  return text_.substr(last_, at_ - last_);
}

bool JsonScanner::skip() noexcept {
  if (fault_) return false;
  if (!sees('{') && !sees('[')) return fail_here("an object or a list");
  std::size_t depth = 0;
  for (std::size_t i = at_; i < text_.size(); ++i) {
    const char c = text_[i];
    if (c == '"') {
      for (++i; i < text_.size() && text_[i] != '"'; ++i) {
        if (text_[i] == '\\') ++i;
      }
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']') && --depth == 0) {
      at_ = i + 1;
      return true;
    }
  }
  at_ = text_.size();
  return fail_here("a closing bracket");
}

bool JsonScanner::end() noexcept {
  if (fault_) return false;
  if (at() != text_.size()) return fail_here("nothing more");
  return true;
}

}  // namespace headgate
