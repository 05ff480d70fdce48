#include "headgate/policy/match/base64.h"

#include <algorithm>
#include <string_view>

#include "headgate/base/ascii.h"

namespace headgate::policy {
namespace {

// 0 to 63 for a character of either alphabet, or -1.
int base64_value(char c) noexcept {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (is_digit(c)) return c - '0' + 52;
  if (c == '+' || c == '-') return 62;
  return c == '/' || c == '_' ? 63 : -1;
}

char base64_character(int value, Base64Alphabet alphabet) noexcept {
  constexpr std::string_view common =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
  if (value < 62) return common[static_cast<std::size_t>(value)];
  const bool url = alphabet == Base64Alphabet::url;
  return value == 62 ? (url ? '-' : '+') : (url ? '_' : '/');
}

// Whether a token is what ASP.NET Core encrypts (Data Protection): base64 with this begin.
bool is_protected(std::string_view token) noexcept { return token.starts_with("CfDJ8"); }

// Whether a token begins with a string of JSON, and ends with a signature.
bool is_signed_string(std::string_view token) noexcept {
  constexpr std::size_t signature_min = 16;  // SHA-1 has 27, of which a cookie is without some
  // A quote in base64, as the first character, and as the last one by the number of characters.
  constexpr char first_quote = 'I';
  constexpr char last_quote[] = {'i', '\0', 'g', 'I'};
  if (!token.starts_with(first_quote)) return false;
  const std::size_t dot = token.rfind('.');
  if (dot == token.npos || token.size() - dot <= signature_min) return false;
  std::string_view text = token.substr(0, token.find('.'));
  while (text.ends_with('=')) text.remove_suffix(1);
  // The second character has two bits of the quote.
  return text.size() > 2 && base64_value(text[1]) >> 4 == 2 &&
         text.back() == last_quote[text.size() % 4];
}

}  // namespace

std::optional<std::size_t> fold_base64(std::string& text, std::size_t from, std::size_t end,
                                       std::size_t to, Base64Alphabet alphabet) {
  const std::size_t begin = to;
  int last = 0;
  bool has_ended = false;
  for (; from < end; ++from) {
    const char c = text[from];
    const int value = base64_value(c);
    has_ended |= c == '=' || c == ' ';
    if (value < 0) continue;
    if (has_ended) return std::nullopt;
    if (alphabet == Base64Alphabet::standard && (c == '-' || c == '_')) return std::nullopt;
    last = value;
    text[to++] = base64_character(value, alphabet);
  }
  const std::size_t over = (to - begin) % 4;
  if (over == 1) return to - 1;  // 6 bits, which are no byte
  if (over > 1) text[to - 1] = base64_character(last & (over == 2 ? 0x30 : 0x3c), alphabet);
  return to;
}

bool is_sealed(std::string_view text) noexcept {
  if (is_protected(text)) return true;
  // '{"', and a '.' and what zlib packs, which Flask puts before it.
  const bool is_object = text.starts_with("eyJ") || text.starts_with(".eJ");
  return is_object ? text.find('.', 1) != text.npos : is_signed_string(text);
}

bool fold_token(std::string& text, std::size_t begin) {
  const std::string_view token = std::string_view(text).substr(begin);
  if (!is_sealed(token)) return true;
  if (is_protected(token)) {
    const auto end = fold_base64(text, begin, text.size(), begin, Base64Alphabet::url);
    if (end) text.resize(*end);
    return end.has_value();
  }
  std::size_t from = text.find('.', begin + 1);
  std::size_t to = from;
  while (from < text.size()) {
    text[to++] = '.';
    const std::size_t end = std::min(text.find('.', from + 1), text.size());
    const auto folded = fold_base64(text, from + 1, end, to, Base64Alphabet::url);
    if (!folded) return false;
    to = *folded;
    from = end;
  }
  text.resize(to);
  return true;
}

}  // namespace headgate::policy
