#include "headgate/server/http/json_reader.h"

#include <cstdint>

#include "headgate/base/ascii.h"
#include "headgate/field/utf8.h"

namespace headgate::server {
namespace {

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

std::size_t JsonReader::at() noexcept {
  while (at_ < text_.size() &&
         (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) {
    ++at_;
  }
  return at_;
}

void JsonReader::fail(std::size_t at, std::string_view expected) noexcept {
  if (!fault_) fault_ = {at, expected};
}

bool JsonReader::fail_here(std::string_view expected) noexcept {
  fail(at_, expected);
  return false;
}

bool JsonReader::open(char bracket) noexcept {
  if (fault_) return false;
  if (!sees(bracket)) return fail_here(bracket == '{' ? "an object" : "a list");
  ++at_;
  first_ = true;
  return true;
}

bool JsonReader::more(char closing) noexcept {
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

std::optional<std::string_view> JsonReader::name() {
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

std::optional<std::string_view> JsonReader::string() {
  if (fault_) return std::nullopt;
  if (!sees('"')) {
    fail_here("a string");
    return std::nullopt;
  }
  last_ = at_++;
  const std::size_t begin = strings_.size();
  field::Utf8Check utf8;
  for (; at_ < text_.size(); ++at_) {
    const char c = text_[at_];
    if (c == '"') {
      if (!utf8.complete()) break;
      ++at_;
      return std::string_view(strings_).substr(begin);
    }
    if (static_cast<std::uint8_t>(c) < 0x20) {
      fail_here("an escaped control character");
      return std::nullopt;
    }
    if (c == '\\') {
      if (!utf8.complete()) break;
      if (!escape()) return std::nullopt;
      continue;
    }
    if (!utf8.feed(static_cast<std::uint8_t>(c))) break;
    strings_.push_back(c);
  }
  fail_here(at_ == text_.size() ? "the string's closing quote" : "UTF-8");
  return std::nullopt;
}

// At a backslash; leaves at_ at the last character of its escape.
bool JsonReader::escape() {
  constexpr std::string_view short_names = "\"\\/bfnrt";
  constexpr std::string_view short_values = "\"\\/\b\f\n\r\t";
  const std::size_t begin = at_++;
  if (at_ < text_.size()) {
    const std::size_t found = short_names.find(text_[at_]);
    if (found != std::string_view::npos) {
      strings_.push_back(short_values[found]);
      return true;
    }
    if (text_[at_] == 'u') {
      auto code = hex4();
      if (code && *code >= 0xd800 && *code < 0xdc00 && text_.substr(at_ + 1, 2) == "\\u") {
        at_ += 2;
        const auto low = hex4();
        code = low && *low >= 0xdc00 && *low < 0xe000
                   ? std::optional(0x10000 + ((*code & 0x3ff) << 10) + (*low & 0x3ff))
                   : std::nullopt;
      }
      if (code && (*code < 0xd800 || *code >= 0xe000)) {
        append_utf8(strings_, *code);
        return true;
      }
    }
  }
  at_ = begin;
  return fail_here("an escape of JSON");
}

// At the 'u'; leaves at_ at the last digit.
std::optional<unsigned> JsonReader::hex4() noexcept {
  unsigned code = 0;
  for (int i = 0; i < 4; ++i) {
    if (++at_ >= text_.size()) return std::nullopt;
    const int digit = hex_value(text_[at_]);
    if (digit < 0) return std::nullopt;
    code = code << 4 | static_cast<unsigned>(digit);
  }
  return code;
}

std::optional<std::string_view> JsonReader::number() noexcept {
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

bool JsonReader::end() noexcept {
  if (fault_) return false;
  if (at() != text_.size()) return fail_here("nothing more");
  return true;
}

}  // namespace headgate::server
