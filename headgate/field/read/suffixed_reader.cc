#include "headgate/field/read/suffixed_reader.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>

#include "headgate/base/ascii.h"
#include "headgate/field/ratelimit.h"
#include "headgate/field/read/plain_number.h"
#include "headgate/field/read/reset.h"
#include "headgate/field/read/resources.h"

namespace headgate::field {
namespace {

struct Window {
  std::string_view suffix;
  std::uint64_t seconds;
};
// A month has 30 days and a year 365: longer ones would let a client send too early.
constexpr std::array<Window, 7> windows = {{{"second", 1},
                                            {"minute", 60},
                                            {"hour", 3600},
                                            {"day", 86'400},
                                            {"week", 604'800},
                                            {"month", 2'592'000},
                                            {"year", 31'536'000}}};

struct Part {
  std::string_view word;
  SuffixedName::Part part;
};
constexpr std::array<Part, 3> parts = {{{"limit", SuffixedName::Part::limit},
                                        {"remaining", SuffixedName::Part::remaining},
                                        {"reset", SuffixedName::Part::reset}}};

bool take(std::string_view& text, std::string_view lower_prefix) noexcept {
  if (!equal_ignoring_case(text.substr(0, lower_prefix.size()), lower_prefix)) return false;
  text.remove_prefix(lower_prefix.size());
  return true;
}

// "limit-tokens" without "limit-", or "" if it does not begin so.
std::string_view behind(std::string_view text, std::string_view word) noexcept {
  return take(text, word) && text.starts_with('-') ? text.substr(1) : std::string_view();
}

// "tokens-limit" without "-limit", or "" if it does not end so.
std::string_view before(std::string_view text, std::string_view word) noexcept {
  if (text.size() <= word.size() + 1) return {};
  const std::size_t end = text.size() - word.size() - 1;
  const bool fits = text[end] == '-' && equal_ignoring_case(text.substr(end + 1), word);
  return fits ? text.substr(0, end) : std::string_view();
}

bool is_suffix(std::string_view text) noexcept {
  return !text.empty() && is_letter(text[0]) && std::all_of(text.begin(), text.end(), [](char c) {
    return is_letter(c) || is_digit(c) || c == '_' || c == '-' || c == '.';
  });
}

struct SuffixLine {
  const HeaderLine* line = nullptr;
  bool repeated = false;  // and so ignored
};
// The fields of one suffix, indexed by Part.
using SuffixLines = std::array<SuffixLine, parts.size()>;

class SuffixReader {
 public:
  SuffixReader(std::span<const HeaderLine> headers, std::optional<std::int64_t> base,
               IgnoredList& ignored)
      : headers_(headers), base_(base), ignored_(ignored) {}

  // Adds a line to the field of a part. Two lines of one name make the field ignored; of two names
  // for the same part, the first one counts.
  void add(SuffixLine& field, const HeaderLine& line) {
    if (field.line == nullptr) {
      field.line = &line;
    } else if (!field.repeated && equal_ignoring_case(field.line->name, line.name)) {
      field.repeated = true;
      ignore_line(line, "expected one line of this field");
    }
  }

  // std::nullopt if neither limit nor remaining is known.
  std::optional<Member> read(const std::string& suffix, const SuffixLines& lines) {
    Member member;
    member.q = number(lines[0]);
    member.r = number(lines[1]);
    member.t = reset(lines[2]);
    if (!member.q && !member.r) return {};
    member.policy = suffix;
    member.w = window_of_suffix(suffix);
    member.unit = member.w ? std::string(default_unit) : suffix;
    return member;
  }

 private:
  void ignore_line(const HeaderLine& line, const char* expected) {
    const auto index = static_cast<std::size_t>(&line - headers_.data());
    ignored_.push_back({lowered(line.name), expected, index, 0});
  }

  std::optional<std::uint64_t> number(const SuffixLine& field) {
    if (field.line == nullptr || field.repeated) return {};
    if (const auto number = parse_plain_number(field.line->value)) return number->floor();
    ignore_line(*field.line, "expected a number >= 0");
    return {};
  }

  std::optional<std::uint64_t> reset(const SuffixLine& field) {
    if (field.line == nullptr || field.repeated) return {};
    const Reset reset = parse_reset(field.line->value, base_);
    if (!reset.seconds) ignore_line(*field.line, expected_of(reset));
    return reset.seconds;
  }

  std::span<const HeaderLine> headers_;
  std::optional<std::int64_t> base_;
  IgnoredList& ignored_;
};

}  // namespace

std::optional<std::uint64_t> window_of_suffix(std::string_view suffix) noexcept {
  for (const Window& window : windows) {
    if (window.suffix == suffix) return window.seconds;
  }
  return {};
}

std::optional<SuffixedName> suffixed_name(std::string_view name, std::string_view prefix) noexcept {
  if (equal_ignoring_case(name, resources_name)) return {};
  if (!take(name, prefix) || equal_ignoring_case(name, "reset-after")) return {};
  for (const auto split : {behind, before}) {
    for (const Part& part : parts) {
      const std::string_view suffix = split(name, part.word);
      if (is_suffix(suffix)) return SuffixedName{part.part, suffix};
    }
  }
  return {};
}

std::vector<Member> read_suffixed(std::span<const HeaderLine> headers, std::string_view prefix,
                                  std::optional<std::int64_t> base, IgnoredList& ignored) {
  // Sorted by window, then by name.
  std::map<std::pair<std::uint64_t, std::string>, SuffixLines> suffixes;
  SuffixReader reader(headers, base, ignored);
  for (const HeaderLine& line : headers) {
    const auto name = suffixed_name(line.name, prefix);
    if (!name) continue;
    std::string suffix = lowered(name->suffix);
    const std::uint64_t window = window_of_suffix(suffix).value_or(0);
    SuffixLines& lines = suffixes.try_emplace({window, std::move(suffix)}).first->second;
    reader.add(lines[static_cast<std::size_t>(name->part)], line);
  }
  std::vector<Member> members;
  for (const auto& [key, lines] : suffixes) {
    if (auto member = reader.read(key.second, lines)) members.push_back(*std::move(member));
  }
  return members;
}

}  // namespace headgate::field
