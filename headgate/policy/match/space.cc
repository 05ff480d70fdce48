#include "headgate/policy/match/space.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "headgate/base/utf8.h"

namespace headgate::policy {
namespace {

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};

// Unicode's white space beyond ASCII, and what programs trim, too: U+FEFF in JavaScript, and in
// Laravel all that nobody sees (Str::INVISIBLE_CHARACTERS).
constexpr Range wide_spaces[] = {
    {0x85, 0x85},       {0xa0, 0xa0},      {0xad, 0xad},     {0x34f, 0x34f},   {0x61c, 0x61c},
    {0x115f, 0x1160},   {0x1680, 0x1680},  {0x17b4, 0x17b5}, {0x180e, 0x180e}, {0x2000, 0x200f},
    {0x2028, 0x2029},   {0x202f, 0x202f},  {0x205f, 0x2065}, {0x206a, 0x206f}, {0x2800, 0x2800},
    {0x3000, 0x3000},   {0x3164, 0x3164},  {0xfeff, 0xfeff}, {0xffa0, 0xffa0}, {0x1d159, 0x1d159},
    {0x1d173, 0x1d17a}, {0xe0020, 0xe0020}};

constexpr bool is_ascii(char c) noexcept { return static_cast<unsigned char>(c) < 0x80; }

// Whether one character is a space: of UTF-8 beyond ASCII, or a byte that is none.
bool is_wide_space(std::string_view character) noexcept {
  if (character.size() == 1) return character == "\x85" || character == "\xa0";
  const std::uint32_t point = code_point(character);
  return std::any_of(std::begin(wide_spaces), std::end(wide_spaces), [point](const Range& range) {
    return point >= range.first && point <= range.last;
  });
}

}  // namespace

std::size_t leading_space(std::string_view text) noexcept {
  if (text.empty()) return 0;
  if (is_ascii(text.front())) return is_ascii_space(text.front()) ? 1 : 0;
  const std::size_t size = first_character(text);
  return is_wide_space(text.substr(0, size)) ? size : 0;
}

std::size_t trailing_space(std::string_view text) noexcept {
  if (text.empty()) return 0;
  if (is_ascii(text.back())) return is_ascii_space(text.back()) ? 1 : 0;
  const std::size_t size = last_character(text);
  return is_wide_space(text.substr(text.size() - size)) ? size : 0;
}

std::string_view without_space(std::string_view text) noexcept {
  while (const std::size_t size = leading_space(text)) text.remove_prefix(size);
  while (const std::size_t size = trailing_space(text)) text.remove_suffix(size);
  return text;
}

}  // namespace headgate::policy
