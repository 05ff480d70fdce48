#include "headgate/sim/log/line_parts.h"

#include <algorithm>

#include "headgate/base/ascii.h"
#include "headgate/policy/text.h"

namespace headgate::sim {
namespace {

// Where the quotes that `text` begins with are closed. A backslash lets the next character be any.
std::size_t closing_quote(std::string_view text) noexcept {
  for (std::size_t from = 1;;) {
    const std::size_t quote = text.find('"', from);
    if (quote == text.npos) return quote;
    std::size_t slash = quote;
    while (text[slash - 1] == '\\') --slash;
    if ((quote - slash) % 2 == 0) return quote;
    from = quote + 1;
  }
}

}  // namespace

bool take_quoted(std::string_view& text, std::string_view& out) noexcept {
  if (!text.starts_with('"')) return false;
  const std::size_t end = closing_quote(text);
  if (end == text.npos) return false;
  out = text.substr(1, end - 1);
  text.remove_prefix(end + 1);
  return true;
}

bool take_space(std::string_view& text) noexcept {
  if (!text.starts_with(' ')) return false;
  text.remove_prefix(1);
  return true;
}

std::string_view take_word(std::string_view& text) noexcept {
  const std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(std::min(word.size() + 1, text.size()));
  return word;
}

bool take_number(std::string_view& text, std::uint64_t& value) noexcept {
  constexpr std::uint64_t most = std::uint64_t{1} << 63;
  value = 0;
  std::size_t digits = 0;
  for (; digits < text.size() && is_digit(text[digits]); ++digits) {
    const auto digit = static_cast<std::uint64_t>(text[digits] - '0');
    value = value > (most - digit) / 10 ? most : value * 10 + digit;
  }
  text.remove_prefix(digits);
  return digits > 0;
}

bool end_after(std::uint64_t milliseconds, LogEntry& entry) noexcept {
  constexpr std::int64_t ms_ns = 1'000'000;
  if (milliseconds > static_cast<std::uint64_t>(took_max / ms_ns)) return false;
  entry.took = static_cast<std::int64_t>(milliseconds) * ms_ns;
  entry.at += entry.took;
  return true;
}

bool split_request(std::string_view request, LogEntry& entry) noexcept {
  const std::size_t space = request.find(' ');
  if (space == request.npos || !policy::is_token(request.substr(0, space))) return false;
  entry.method = request.substr(0, space);
  request.remove_prefix(space + 1);
  const std::size_t version = request.rfind(" HTTP/");
  entry.target = request.substr(0, version);  // HTTP/0.9 has no version
  entry.query = std::nullopt;
  return !entry.target.empty();
}

}  // namespace headgate::sim
