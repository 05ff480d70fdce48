#include "headgate/policy/file/indentation.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "headgate/base/ascii.h"
#include "headgate/policy/file/spelling.h"
#include "headgate/policy/text.h"

namespace headgate::policy {
namespace {

// What a line shows before its value. Columns count from 0.
struct Line {
  std::uint32_t number = 0;  // from 1
  std::size_t indent = 0;    // of the first character
  bool has_dash = false;     // the first character is the '-' of a list
  std::size_t text_at = 0;   // the column of what follows the '-'
  std::string_view text;
  std::optional<std::size_t> key_at;  // the column of its key, which may follow a '-'
  std::string_view key;
  bool has_value = false;  // behind the key
};

bool is_dash(std::string_view text) {
  return text == "-" || text.starts_with("- ") || text.starts_with("-\r");
}

Line read_line(std::string_view text, std::uint32_t number) {
  Line line;
  line.number = number;
  std::size_t at = std::min(text.find_first_not_of(' '), text.size());
  line.indent = at;
  line.has_dash = is_dash(text.substr(at));
  while (is_dash(text.substr(at))) {
    at = std::min(text.find_first_not_of(' ', at + 1), text.size());
  }
  const std::string_view rest = trimmed(text.substr(at));
  line.text_at = at;
  line.text = rest;
  const std::size_t colon =
      std::min(rest.find(": "), rest.ends_with(':') ? rest.size() - 1 : rest.npos);
  if (colon == rest.npos || colon == 0 || rest.find_first_of("{[\"'#") < colon) return line;
  line.key_at = at;
  line.key = rest.substr(0, colon);
  const std::string_view value = trimmed(rest.substr(colon + 1));
  line.has_value = !value.empty() && value[0] != '#';
  return line;
}

// Returns the lines up to `last`, without empty ones and comments.
std::vector<Line> read_lines(std::string_view text, std::uint32_t last) {
  std::vector<Line> lines;
  for (std::uint32_t number = 1; number <= last && !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view content = trimmed(text.substr(0, end));
    if (!content.empty() && content[0] != '#') {
      lines.push_back(read_line(text.substr(0, end), number));
    }
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return lines;
}

std::string spaces(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " space" : " spaces");
}

std::string name_of(const Line& line, bool dash) { return dash ? "the '-'" : in_quotes(line.key); }

}  // namespace

std::optional<Misindented> misindented(std::string_view text, std::uint32_t line, bool continues) {
  const std::vector<Line> lines = read_lines(text, line);
  if (lines.size() < 2 || lines.back().number != line) return std::nullopt;
  const Line& wrong = lines.back();
  if (!wrong.has_dash && !wrong.key_at) return std::nullopt;
  const Line& before = lines[lines.size() - 2];
  if (continues && (wrong.has_dash || !before.has_value)) return std::nullopt;

  // Goes up through the blocks that contain the line, or that it may have been meant to continue.
  const auto distance = [&](std::size_t column) {
    return column > wrong.indent ? column - wrong.indent : wrong.indent - column;
  };
  const Line* like = nullptr;
  std::size_t expected = 0;
  std::size_t least = std::string_view::npos;
  for (std::size_t i = lines.size() - 1; i-- > 0 && least > 0;) {
    const Line& other = lines[i];
    const auto column = wrong.has_dash
                            ? (other.has_dash ? std::optional(other.indent) : std::nullopt)
                            : other.key_at;
    if (column && *column < least && (like == nullptr || distance(*column) < distance(expected))) {
      like = &other;
      expected = *column;
    }
    least = std::min(least, other.indent);
  }
  if (like == nullptr || expected == wrong.indent) return std::nullopt;
  return Misindented{{wrong.number, static_cast<std::uint32_t>(wrong.indent + 1)},
                     name_of(wrong, wrong.has_dash) + " is indented by " + spaces(wrong.indent) +
                         "; expected " + std::to_string(expected) + ", like " +
                         name_of(*like, wrong.has_dash) + " in line " +
                         std::to_string(like->number)};
}

std::optional<Position> unspaced_colon(std::string_view text, std::uint32_t line) {
  const std::vector<Line> lines = read_lines(text, line);
  if (lines.size() < 2 || lines.back().number != line) return std::nullopt;
  const Line& before = lines[lines.size() - 2];
  if (lines.back().key_at != before.text_at) return std::nullopt;
  const std::size_t colon = before.text.find(':');
  const bool is_key = colon != before.text.npos && is_token(before.text.substr(0, colon));
  if (before.key_at || !is_key) return std::nullopt;
  return Position{before.number, static_cast<std::uint32_t>(before.text_at + colon + 1)};
}

}  // namespace headgate::policy
