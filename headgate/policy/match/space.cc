#include "headgate/policy/match/space.h"

#include <algorithm>

#include "headgate/base/utf8.h"

namespace headgate::policy {
namespace {

// Unicode's white space beyond ASCII, and what JavaScript and Laravel trim, too (U+200B, U+200E and
// U+FEFF).
constexpr std::string_view wide_spaces[] = {
    "\xc2\x85",     "\xc2\xa0",     "\xe1\x9a\x80", "\xe2\x80\x80", "\xe2\x80\x81", "\xe2\x80\x82",
    "\xe2\x80\x83", "\xe2\x80\x84", "\xe2\x80\x85", "\xe2\x80\x86", "\xe2\x80\x87", "\xe2\x80\x88",
    "\xe2\x80\x89", "\xe2\x80\x8a", "\xe2\x80\x8b", "\xe2\x80\x8e", "\xe2\x80\xa8", "\xe2\x80\xa9",
    "\xe2\x80\xaf", "\xe2\x81\x9f", "\xe3\x80\x80", "\xef\xbb\xbf"};

constexpr std::size_t utf8_max = 4;  // bytes of a character

constexpr bool is_ascii(char c) noexcept { return static_cast<unsigned char>(c) < 0x80; }

constexpr bool is_latin_1_space(char c) noexcept { return c == '\x85' || c == '\xa0'; }

// Whether the text ends with a character of UTF-8 of more than one byte.
bool ends_with_wide(std::string_view text) noexcept {
  for (std::size_t size = 2; size <= std::min(utf8_max, text.size()); ++size) {
    const std::string_view last = text.substr(text.size() - size);
    if (static_cast<unsigned char>(last.front()) >= 0xc0) return is_utf8(last);
  }
  return false;
}

}  // namespace

std::size_t leading_space(std::string_view text) noexcept {
  if (text.empty()) return 0;
  if (is_ascii(text.front())) return is_ascii_space(text.front()) ? 1 : 0;
  if (is_latin_1_space(text.front())) return 1;
  const auto found = std::find_if(std::begin(wide_spaces), std::end(wide_spaces),
                                  [&](std::string_view space) { return text.starts_with(space); });
  return found == std::end(wide_spaces) ? 0 : found->size();
}

std::size_t trailing_space(std::string_view text) noexcept {
  if (text.empty()) return 0;
  if (is_ascii(text.back())) return is_ascii_space(text.back()) ? 1 : 0;
  const auto found = std::find_if(std::begin(wide_spaces), std::end(wide_spaces),
                                  [&](std::string_view space) { return text.ends_with(space); });
  if (found != std::end(wide_spaces)) return found->size();
  return is_latin_1_space(text.back()) && !ends_with_wide(text) ? 1 : 0;
}

std::string_view without_space(std::string_view text) noexcept {
  while (const std::size_t size = leading_space(text)) text.remove_prefix(size);
  while (const std::size_t size = trailing_space(text)) text.remove_suffix(size);
  return text;
}

}  // namespace headgate::policy
