// Texts behind their lengths, which keys are made of: no text can look like two.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace headgate::policy {

// Calls `write(out)`, which appends a text, and inserts the text's length before it. Returns the
// offset of the text.
template <class Write>
std::size_t append_counted(std::string& out, const Write& write) {
  const std::size_t begin = out.size();
  out.push_back('\0');
  write(out);
  std::size_t length = out.size() - begin - 1;
  std::size_t at = begin;
  for (; length >= 0x80; length >>= 7) {
    out[at] = static_cast<char>(length | 0x80);
    out.insert(++at, 1, '\0');
  }
  out[at] = static_cast<char>(length);
  return at + 1;
}

// Removes the first text and its length, and returns the text. std::nullopt, and `counted` has no
// meaning any more, if it has another form.
inline std::optional<std::string_view> take_counted(std::string_view& counted) noexcept {
  std::size_t size = 0;
  for (unsigned shift = 0; !counted.empty() && shift < 32; shift += 7) {
    const auto digit = static_cast<unsigned char>(counted.front());
    counted.remove_prefix(1);
    size |= static_cast<std::size_t>(digit & 0x7f) << shift;
    if (digit >= 0x80) continue;
    if (size > counted.size()) return std::nullopt;
    const std::string_view text = counted.substr(0, size);
    counted.remove_prefix(size);
    return text;
  }
  return std::nullopt;
}

}  // namespace headgate::policy
