#include "headgate/policy/match/base64.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "headgate/base/ascii.h"
#include "headgate/base/utf8.h"

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

// The last character of a text that has 2 or 3 (`over`) beyond its groups of four, without the bits
// that are no byte. It is the same in both alphabets.
char last_character(int value, std::size_t over) noexcept {
  return base64_character(value & (over == 2 ? 0x30 : 0x3c), Base64Alphabet::standard);
}

bool is_base64(char c) noexcept { return base64_value(c) >= 0; }

// Whether a text begins so if all that is no base64 is left out.
bool begins_with(std::string_view text, std::string_view base64) noexcept {
  for (const char expected : base64) {
    const auto c = std::find_if(text.begin(), text.end(), is_base64);
    if (c == text.end() || *c != expected) return false;
    text = {c + 1, text.end()};
  }
  return true;
}

// Whether a token is what ASP.NET Core (Data Protection) or Fernet encrypts: base64 with the begin
// that its version has.
bool is_encrypted(std::string_view token) noexcept {
  return begins_with(token, "CfDJ8") || begins_with(token, "gAAAAA");
}

// Writes the last character of text[begin..] as encoders do, if it ends with padded base64. Go's
// decoder ignores bits that are no byte, also in sessions of gorilla/securecookie, and in the
// signature at the end of those of oauth2-proxy, and so does JavaScript's atob() in those of Hono.
void fold_padded(std::string& text, std::size_t begin) {
  constexpr std::size_t size_min = 24;  // no number or word that happens to end with a '='
  const std::size_t end = text.find_last_not_of('=') + 1;
  const std::size_t padding = text.size() - end;
  if (padding == 0 || padding > 2 || end <= begin) return;
  const auto is_whole = [&](auto belongs) {
    std::size_t from = end;
    while (from > begin && belongs(text[from - 1])) --from;
    return text.size() - from >= size_min && (text.size() - from) % 4 == 0;
  };
  // In cookies, a '+' is a space.
  const auto is_base64_or_plus = [](char c) { return is_base64(c) || c == ' '; };
  if (!is_whole(is_base64) && !is_whole(is_base64_or_plus)) return;
  const char last = text[end - 1] == ' ' ? '+' : text[end - 1];
  text[end - 1] = last_character(base64_value(last), 4 - padding);
}

// What Plug.Crypto encrypts begins with this name, A128GCM in base64. Its version 1 decodes that,
// so that the last character may be another one with the same first two bits.
constexpr std::string_view a128gcm = "QTEyOEdDTQ";

bool is_a128gcm(std::string_view name) noexcept {
  while (name.ends_with('=')) name.remove_suffix(1);
  return name.size() == a128gcm.size() && name.starts_with(a128gcm.substr(0, 9)) &&
         base64_value(name[9]) >> 4 == base64_value(a128gcm[9]) >> 4;
}

// Whether a token is what Plug.Crypto signs or encrypts, as Phoenix does with sessions: the name of
// the way, some in base64 (HS256 to HS512), and parts behind it.
bool is_of_plug(std::string_view token) noexcept {
  constexpr std::string_view names[] = {"SFMyNTY", "SFMzODQ", "SFM1MTI", "XCP"};
  const std::size_t dot = token.find('.');
  if (dot == token.npos) return false;
  const std::string_view name = token.substr(0, dot);
  return std::find(std::begin(names), std::end(names), name) != std::end(names) || is_a128gcm(name);
}

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

// The same for a decoder of one alphabet: that for URLs takes both, and others pass over '-', '_'.
bool is_user_and_password(std::string_view text, Base64Alphabet alphabet) noexcept {
  unsigned bits = 0;
  unsigned count = 0;
  bool has_colon = false;
  Utf8Check check;
  for (const char c : text) {
    if (c == '=' && has_colon) return true;  // some decoders end here
    const int value = base64_value(c);
    const bool is_passed = alphabet == Base64Alphabet::standard && (c == '-' || c == '_');
    if (value < 0 || is_passed) continue;
    bits = bits << 6 | static_cast<unsigned>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    const auto byte = static_cast<std::uint8_t>(bits >> count);
    if (byte < 0x20 || byte == 0x7f || !check.feed(byte)) return false;
    has_colon |= byte == ':';
  }
  return has_colon;
}

}  // namespace

bool is_user_and_password(std::string_view text) noexcept {
  return is_user_and_password(text, Base64Alphabet::standard) ||
         is_user_and_password(text, Base64Alphabet::url);
}

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
  if (over > 1) text[to - 1] = last_character(last, over);
  return to;
}

bool is_sealed(std::string_view text) noexcept {
  if (is_encrypted(text) || is_of_plug(text)) return true;
  // '{"', and a '.' and what zlib packs, which Flask puts before it.
  const bool is_object = text.starts_with("eyJ") || text.starts_with(".eJ");
  return is_object ? text.find('.', 1) != text.npos : is_signed_string(text);
}

bool fold_token(std::string& text, std::size_t begin) {
  const std::string_view token = std::string_view(text).substr(begin);
  if (token.starts_with("Fe26.")) {
    // iron-session reads a number behind the '~', and no further.
    text.resize(std::min(text.find('~', begin), text.size()));
    return true;
  }
  if (!is_sealed(token)) {
    fold_padded(text, begin);
    return true;
  }
  if (is_encrypted(token)) {
    const auto end = fold_base64(text, begin, text.size(), begin, Base64Alphabet::url);
    if (end) text.resize(*end);
    return end.has_value();
  }
  std::size_t from = text.find('.', begin + 1);
  if (is_a128gcm(std::string_view(text).substr(begin, from - begin))) {
    text.replace(begin, from - begin, a128gcm);
    from = begin + a128gcm.size();
  }
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
