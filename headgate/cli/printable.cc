#include "headgate/cli/printable.h"

#include <algorithm>

#include "headgate/base/hex.h"
#include "headgate/field/sf/write.h"

namespace headgate::cli {

std::string printable(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) append_printable(out, c);
  return out;
}

Excerpt excerpt(std::string_view text, std::size_t offset) {
  constexpr std::size_t length_max = 90;  // with a field's name in front, about one line
  constexpr std::size_t before_max = 60;  // two thirds: a fault is explained by what precedes it
  offset = std::min(offset, text.size());
  const std::size_t begin =
      text.size() <= length_max || offset <= before_max ? 0 : offset - before_max;
  const std::string_view shown = text.substr(begin, length_max);
  std::string out = begin > 0 ? "..." : "";
  const std::size_t column = out.size() + printable(shown.substr(0, offset - begin)).size();
  out += printable(shown);
  if (begin + shown.size() < text.size()) out += "...";
  return {std::move(out), column};
}

std::string base64(std::string_view bytes) {
  std::string out;
  Appender appender{out};
  field::sf::write_bytes(appender, bytes);
  return out.substr(1, out.size() - 2);  // without the colons
}

std::string seconds_in_words(std::uint64_t seconds) {
  std::string out = std::to_string(seconds) + " s";
  constexpr std::uint64_t day = 86'400;
  constexpr std::uint64_t century = 36'525 * day;
  if (seconds < 120) return out;
  if (seconds >= century) return out + " (more than a century)";
  struct Unit {
    std::uint64_t seconds;
    const char* name;
  };
  std::string parts;
  std::uint64_t left = seconds;
  for (const Unit& unit : {Unit{day, "d"}, Unit{3600, "h"}, Unit{60, "min"}, Unit{1, "s"}}) {
    const std::uint64_t count = left / unit.seconds;
    left %= unit.seconds;
    if (count == 0) continue;
    if (!parts.empty()) parts += ' ';
    parts += std::to_string(count) + ' ' + unit.name;
  }
  return out + " (" + parts + ')';
}

}  // namespace headgate::cli
