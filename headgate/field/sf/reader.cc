#include "headgate/field/sf/reader.h"

#include "headgate/base/utf8.h"
#include "headgate/field/sf/chars.h"

namespace headgate::field::sf {

bool Reader::first_member() noexcept {
  skip_spaces();
  return !at_end();
}

bool Reader::next_member() noexcept {
  skip_optional_whitespace();
  if (at_end()) return false;
  if (!take(',')) return fail("expected a comma or the end after a member");
  skip_optional_whitespace();
  if (at_end()) return fail("expected a member after the comma");
  return true;
}

bool Reader::key(std::string_view& key) noexcept {
  const char* start = at_;
  if (at_end() || !is(*at_, key_start)) {
    return fail("expected a key, which starts with a lower-case letter or *");
  }
  while (!at_end() && is(*at_, key_char)) ++at_;
  key = {start, static_cast<std::size_t>(at_ - start)};
  return true;
}

bool Reader::first_inner_item() noexcept {
  skip_spaces();
  if (take(')')) return false;
  if (at_end()) return fail("expected ) at the end of an inner list");
  return true;
}

bool Reader::next_inner_item() noexcept {
  if (!at(' ') && !at(')')) return fail("expected a space or ) after an item of an inner list");
  return first_inner_item();
}

bool Reader::bare_item(RawItem& item) noexcept {
  if (at_end()) return fail("expected a value");
  const char c = *at_;
  if (c == '"') return string(item);
  if (c == '-' || is(c, digit_char)) return number(item);
  if (is(c, token_start)) return token(item);
  if (c == ':') return bytes(item);
  if (c == '?') return boolean(item);
  if (c == '@') return date(item);
  if (c == '%') return display_string(item);
  return fail("expected a value, which starts with a letter, a digit or one of - \" * : ? @ %");
}

bool Reader::parameter(RawParameter& parameter) noexcept {
  if (!take(';')) return false;
  skip_spaces();
  if (!key(parameter.key)) return false;
  if (take('=')) return bare_item(parameter.value);
  parameter.value = {Type::boolean, 1, {}};
  return true;
}

bool Reader::skip_value() noexcept {
  RawItem item;
  if (enter_inner_list()) {
    for (bool more = first_inner_item(); more; more = next_inner_item()) {
      if (!bare_item(item)) return false;
      skip_parameters();
    }
  } else if (!bare_item(item)) {
    return false;
  }
  skip_parameters();
  return ok();
}

void Reader::skip_parameters() noexcept {
  for (RawParameter ignored; parameter(ignored);) {
  }
}

bool Reader::item_end() noexcept {
  skip_spaces();
  return at_end() || fail("expected the end after the item");
}

// Moves to the end of the input, so that no later step can succeed.
bool Reader::fail(const char* what) noexcept {
  if (ok()) error_ = {what, offset()};
  at_ = end_;
  return false;
}

// Integers have up to 15 digits, Decimals up to 12 before the point and 1 to 3 after it.
bool Reader::number(RawItem& item) noexcept {
  const bool negative = take('-');
  std::int64_t value = 0;
  int digits = 0;
  for (; !at_end() && is(*at_, digit_char); ++at_, ++digits) {
    if (digits == 15) return fail("expected at most 15 digits");
    value = value * 10 + (*at_ - '0');
  }
  if (digits == 0) return fail("expected a digit");
  item.type = Type::integer;
  if (at('.')) {
    if (digits > 12) return fail("expected at most 12 digits before the decimal point");
    ++at_;
    int places = 0;
    for (; !at_end() && is(*at_, digit_char); ++at_, ++places) {
      if (places == 3) return fail("expected at most 3 digits after the decimal point");
      value = value * 10 + (*at_ - '0');
    }
    if (places == 0) return fail("expected a digit after the decimal point");
    for (; places < 3; ++places) value *= 10;
    item.type = Type::decimal;
  }
  item.number = negative ? -value : value;
  return true;
}

bool Reader::string(RawItem& item) noexcept {
  const char* start = ++at_;
  for (; !at_end(); ++at_) {
    const char c = *at_;
    if (c == '"') {
      item.type = Type::string;
      item.text = {start, static_cast<std::size_t>(at_ - start)};
      ++at_;
      return true;
    }
    if (c == '\\') {
      ++at_;
      if (!at('"') && !at('\\')) return fail("expected \" or \\ after a backslash");
    } else if (c < 0x20 || c > 0x7e) {
      return fail("expected a printable ASCII character in a string");
    }
  }
  return fail("expected \" at the end of a string");
}

bool Reader::token(RawItem& item) noexcept {
  const char* start = at_;
  while (!at_end() && is(*at_, token_char)) ++at_;
  item.type = Type::token;
  item.text = {start, static_cast<std::size_t>(at_ - start)};
  return true;
}

// Accepts missing padding, and non-zero bits where padding would be, as section 4.2.7 recommends.
bool Reader::bytes(RawItem& item) noexcept {
  const char* start = ++at_;
  while (!at_end() && is(*at_, base64_char)) ++at_;
  const std::size_t core = static_cast<std::size_t>(at_ - start);
  std::size_t padding = 0;
  for (; at('='); ++at_) ++padding;
  if (!at(':')) return fail("expected base64 and : at the end of a byte sequence");
  if (core % 4 == 1) return fail("expected a length that base64 can have");
  if (padding > (4 - core % 4) % 4) return fail("expected no more padding than base64 needs");
  ++at_;
  item.type = Type::bytes;
  item.text = {start, core};
  return true;
}

bool Reader::boolean(RawItem& item) noexcept {
  ++at_;
  if (!at('0') && !at('1')) return fail("expected 0 or 1 after ?");
  item.type = Type::boolean;
  item.number = *at_++ - '0';
  return true;
}

bool Reader::date(RawItem& item) noexcept {
  ++at_;
  if (!number(item)) return false;
  if (item.type != Type::integer) return fail("expected a whole number of seconds in a date");
  item.type = Type::date;
  return true;
}

bool Reader::display_string(RawItem& item) noexcept {
  ++at_;
  if (!take('"')) return fail("expected \" after %");
  const char* start = at_;
  Utf8Check utf8;
  for (; !at_end(); ++at_) {
    const char c = *at_;
    if (c == '"') {
      if (!utf8.complete()) return fail("expected whole UTF-8 in a display string");
      item.type = Type::display_string;
      item.text = {start, static_cast<std::size_t>(at_ - start)};
      ++at_;
      return true;
    }
    if (c < 0x20 || c > 0x7e) {
      return fail("expected a printable ASCII character in a display string");
    }
    int byte = c;
    if (c == '%') {
      if (end_ - at_ < 3 || lower_hex_value(at_[1]) < 0 || lower_hex_value(at_[2]) < 0) {
        return fail("expected two lower-case hexadecimal digits after %");
      }
      byte = lower_hex_value(at_[1]) * 16 + lower_hex_value(at_[2]);
      at_ += 2;
    }
    if (!utf8.feed(static_cast<std::uint8_t>(byte))) {
      return fail("expected UTF-8 in a display string");
    }
  }
  return fail("expected \" at the end of a display string");
}

namespace {

std::string unescaped(std::string_view text) {
  if (text.find('\\') == std::string_view::npos) return std::string(text);
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') ++i;
    out += text[i];
  }
  return out;
}

std::uint32_t base64_value(char c) noexcept {
  const auto u = static_cast<std::uint32_t>(static_cast<unsigned char>(c));
  if (c >= 'a') return u - 'a' + 26;
  if (c >= 'A') return u - 'A';
  if (c >= '0') return u - '0' + 52;
  return c == '+' ? 62 : 63;
}

std::string from_base64(std::string_view text) {
  std::string out;
  out.reserve(text.size() / 4 * 3 + 2);
  std::uint32_t word = 0;
  unsigned bits = 0;
  for (const char c : text) {
    word = word << 6 | base64_value(c);
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      out += static_cast<char>(word >> bits & 0xff);
    }
  }
  return out;
}

std::string percent_decoded(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    out += static_cast<char>(lower_hex_value(text[i + 1]) * 16 + lower_hex_value(text[i + 2]));
    i += 2;
  }
  return out;
}

}  // namespace

std::string decoded(const RawItem& item) {
  switch (item.type) {
    case Type::string:
      return unescaped(item.text);
    case Type::bytes:
      return from_base64(item.text);
    case Type::display_string:
      return percent_decoded(item.text);
    default:
      return std::string(item.text);
  }
}

}  // namespace headgate::field::sf
