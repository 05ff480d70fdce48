#include "headgate/cli/gateway/template.h"

#include <cassert>

namespace headgate::cli {
namespace {

// Removes the first line from `text` and returns it without its end.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

const std::vector<std::string>& values_of(std::string_view name, const TemplateValues& values) {
  static const std::vector<std::string> none;
  const auto found = values.find(name);
  assert(found != values.end());
  return found == values.end() ? none : found->second;
}

// The block that is being repeated, if any, and its value of this turn.
struct Turn {
  std::string_view name;
  std::string_view value;
};

void fill_line(std::string_view line, const TemplateValues& values, const Turn& turn,
               std::string& out) {
  for (;;) {
    const std::size_t open = line.find('@');
    const std::size_t close = open == std::string_view::npos ? open : line.find('@', open + 1);
    if (close == std::string_view::npos) break;
    out += line.substr(0, open);
    const std::string_view name = line.substr(open + 1, close - open - 1);
    if (name == turn.name) {
      out += turn.value;
    } else if (const auto& found = values_of(name, values); !found.empty()) {
      out += found.front();
    }
    line.remove_prefix(close + 1);
  }
  out.append(line).append(1, '\n');
}

void fill_lines(std::string_view text, const TemplateValues& values, const Turn& turn,
                std::string& out) {
  constexpr std::string_view each = "@each ";
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    if (line.starts_with("@#")) continue;
    if (!line.starts_with(each)) {
      fill_line(line, values, turn, out);
      continue;
    }
    const std::string_view name = line.substr(each.size());
    const std::string_view begin = text;
    std::string_view block;
    while (!text.empty() && !text.starts_with("@end\n")) {
      take_line(text);
      block = begin.substr(0, begin.size() - text.size());
    }
    take_line(text);  // @end
    for (const std::string& value : values_of(name, values)) {
      fill_lines(block, values, {name, value}, out);
    }
  }
}

}  // namespace

std::string fill_template(std::string_view text, const TemplateValues& values) {
  std::string out;
  fill_lines(text, values, {}, out);
  return out;
}

}  // namespace headgate::cli
