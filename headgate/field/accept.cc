#include "headgate/field/accept.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

#include "headgate/base/ascii.h"

namespace headgate::field {
namespace {

// The most specific first.
constexpr std::array<std::string_view, 4> ranges = {"application/problem+json", "application/json",
                                                    "application/*", "*/*"};

// Removes the text up to the first `separator` outside quoted strings, and the separator, from
// `rest`, and returns the text without outer whitespace.
std::string_view take_until(std::string_view& rest, char separator) noexcept {
  bool quoted = false;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    if (rest[i] == '"') quoted = !quoted;
    if (quoted && rest[i] == '\\') ++i;
    if (quoted || i >= rest.size() || rest[i] != separator) continue;
    const std::string_view taken = rest.substr(0, i);
    rest.remove_prefix(i + 1);
    return trimmed(taken);
  }
  const std::string_view taken = rest;
  rest = {};
  return trimmed(taken);
}

// Reads a weight in thousandths: 0 or 1, then optionally a point and up to three digits.
std::optional<int> weight(std::string_view text) noexcept {
  if (text.empty() || text.size() > 5 || (text[0] != '0' && text[0] != '1')) return {};
  int thousandths = (text[0] - '0') * 1000;
  if (text.size() > 1 && text[1] != '.') return {};
  for (std::size_t i = 2, unit = 100; i < text.size(); ++i, unit /= 10) {
    if (text[i] < '0' || text[i] > '9') return {};
    thousandths += (text[i] - '0') * static_cast<int>(unit);
  }
  return thousandths <= 1000 ? std::optional(thousandths) : std::nullopt;
}

bool is_media_range(std::string_view text) noexcept {
  const std::size_t slash = text.find('/');
  return slash != std::string_view::npos && slash > 0 && slash + 1 < text.size();
}

}  // namespace

bool accepts_problem_json(std::span<const std::string_view> accept_lines) noexcept {
  std::array<std::optional<int>, ranges.size()> weights;
  bool any = false;
  for (std::string_view rest : accept_lines) {
    while (!rest.empty()) {
      std::string_view element = take_until(rest, ',');
      const std::string_view range = take_until(element, ';');
      std::optional<int> q = 1000;
      while (!element.empty()) {
        const std::string_view parameter = take_until(element, ';');
        if (parameter.size() >= 2 && (parameter[0] == 'q' || parameter[0] == 'Q') &&
            parameter[1] == '=') {
          q = weight(parameter.substr(2));
        }
      }
      if (!q || !is_media_range(range)) continue;
      any = true;
      for (std::size_t i = 0; i < ranges.size(); ++i) {
        if (equal_ignoring_case(range, ranges[i])) {
          weights[i] = std::max(weights[i].value_or(0), *q);
        }
      }
    }
  }
  for (const auto& found : weights) {
    if (found) return *found > 0;
  }
  return !any;
}

}  // namespace headgate::field
