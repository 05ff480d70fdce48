#include "headgate/sim/log/json_scanner.h"

#include <algorithm>
#include <charconv>

namespace headgate::sim {
namespace {

constexpr std::string_view literal_ends = " \t\r,}]";

bool is_literal(std::string_view text) noexcept {
  if (text == "true" || text == "false" || text == "null") return true;
  if (text.empty() || (text[0] != '-' && (text[0] < '0' || text[0] > '9'))) return false;
  return text.find_first_not_of("0123456789+-.eE") == text.npos;
}

}  // namespace

bool JsonScanner::begin() noexcept {
  skip_space();
  return take('{');
}

bool JsonScanner::next(std::string_view& name, std::string_view& value, bool& has_text) {
  skip_space();
  if (take('}')) {
    skip_space();
    done_ = left_.empty();
    return false;
  }
  if (!first_) {
    if (!take(',')) return false;
    skip_space();
  }
  first_ = false;
  if (!take_string(name)) return false;
  skip_space();
  if (!take(':')) return false;
  skip_space();
  has_text = true;
  if (left_.starts_with('"')) return take_string(value);
  if (left_.starts_with('{') || left_.starts_with('[')) {
    has_text = false;
    return skip_nested();
  }
  value = left_.substr(0, left_.find_first_of(literal_ends));
  left_.remove_prefix(value.size());
  has_text = value != "null";
  return is_literal(value);
}

void JsonScanner::skip_space() noexcept {
  const std::size_t text = left_.find_first_not_of(" \t\r");
  left_.remove_prefix(std::min(text, left_.size()));
}

bool JsonScanner::take(char c) noexcept {
  if (!left_.starts_with(c)) return false;
  left_.remove_prefix(1);
  return true;
}

bool JsonScanner::take_string(std::string_view& out) {
  if (!take('"')) return false;
  std::size_t plain = left_.find_first_of("\"\\");
  if (plain == left_.npos) return false;
  if (left_[plain] == '"') {
    out = left_.substr(0, plain);
    left_.remove_prefix(plain + 1);
    return true;
  }
  const std::size_t begin = texts_.size();
  for (;;) {
    texts_.append(left_, 0, plain);
    left_.remove_prefix(plain);
    if (take('"')) break;
    if (!take_escape()) return false;
    plain = left_.find_first_of("\"\\");
    if (plain == left_.npos) return false;
  }
  out = std::string_view(texts_).substr(begin);
  return true;
}

bool JsonScanner::take_escape() {
  left_.remove_prefix(1);
  if (left_.empty()) return false;
  constexpr std::string_view letters = "\"\\/bfnrt";
  constexpr std::string_view meanings = "\"\\/\b\f\n\r\t";
  const char letter = left_[0];
  left_.remove_prefix(1);
  if (const std::size_t i = letters.find(letter); i != letters.npos) {
    texts_.push_back(meanings[i]);
    return true;
  }
  unsigned code = 0;
  if (letter != 'u' || !take_hex(code)) return false;
  if (code >= 0xd800 && code < 0xdc00 && left_.starts_with("\\u")) {  // half of a pair
    const std::string_view before = left_;
    left_.remove_prefix(2);
    unsigned low = 0;
    if (!take_hex(low)) return false;
    if (low >= 0xdc00 && low < 0xe000) {
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else {
      left_ = before;
    }
  }
  append(code);
  return true;
}

bool JsonScanner::take_hex(unsigned& code) noexcept {
  if (left_.size() < 4) return false;
  const auto [end, error] = std::from_chars(left_.data(), left_.data() + 4, code, 16);
  if (error != std::errc{} || end != left_.data() + 4) return false;
  left_.remove_prefix(4);
  return true;
}

bool JsonScanner::skip_nested() noexcept {
  std::size_t depth = 0;
  for (std::size_t i = 0; i < left_.size(); ++i) {
    const char c = left_[i];
    if (c == '"') {
      for (++i; i < left_.size() && left_[i] != '"'; ++i) {
        if (left_[i] == '\\') ++i;
      }
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']') && --depth == 0) {
      left_.remove_prefix(i + 1);
      return true;
    }
  }
  return false;
}

// As UTF-8, which takes no more bytes than the escape did.
void JsonScanner::append(unsigned code) {
  const auto byte = [this](unsigned bits) { texts_.push_back(static_cast<char>(bits)); };
  const auto more = [&](unsigned shift) { byte(0x80 | ((code >> shift) & 0x3f)); };
  if (code < 0x80) {
    byte(code);
  } else if (code < 0x800) {
    byte(0xc0 | code >> 6), more(0);
  } else if (code < 0x10000) {
    byte(0xe0 | code >> 12), more(6), more(0);
  } else {
    byte(0xf0 | code >> 18), more(12), more(6), more(0);
  }
}

}  // namespace headgate::sim
