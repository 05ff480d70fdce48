#include "headgate/cli/explain/rate_limit_field.h"

#include <algorithm>
#include <array>
#include <utility>

#include "headgate/base/ascii.h"
#include "headgate/field/header_line.h"
#include "headgate/field/read/suffixed_reader.h"

namespace headgate::cli {
namespace {

using Kind = RateLimitField::Kind;

constexpr std::array<std::pair<std::string_view, RateLimitField>, 6> whole_names = {{
    {"age", {Kind::age, {}}},
    {"retry-after", {Kind::retry_after, {}}},
    {"ratelimit", {Kind::ratelimit, "ratelimit"}},
    {"ratelimit-policy", {Kind::policy, "ratelimit"}},
    {"beta-ratelimit", {Kind::ratelimit, "beta-ratelimit"}},
    {"beta-ratelimit-policy", {Kind::policy, "beta-ratelimit"}},
}};

constexpr std::array<std::string_view, 3> prefixes = {"ratelimit-", "x-ratelimit-",
                                                      "x-rate-limit-"};

constexpr std::array<std::pair<std::string_view, Kind>, 6> parts = {{
    {"limit", Kind::limit},
    {"remaining", Kind::remaining},
    {"used", Kind::used},
    {"observed", Kind::used},
    {"reset", Kind::reset},
    {"reset-after", Kind::reset_after},
}};

}  // namespace

RateLimitField rate_limit_field(std::string_view name) {
  const std::string lower = lowered(name);
  for (const auto& [whole, field] : whole_names) {
    if (lower == whole) return field;
  }
  for (const std::string_view prefix : prefixes) {
    if (!lower.starts_with(prefix)) continue;
    const std::string_view part = std::string_view(lower).substr(prefix.size());
    for (const auto& [word, kind] : parts) {
      if (part == word) return {kind, prefix};
    }
    if (prefix != "ratelimit-" && field::suffixed_name(name, prefix)) {
      return {Kind::suffixed, prefix};
    }
  }
  const bool alike =
      lower.find("ratelimit") != std::string::npos || lower.find("rate-limit") != std::string::npos;
  return {alike ? Kind::unread : Kind::other, {}};
}

std::string_view fields_of_prefix(std::string_view prefix) {
  if (prefix == "ratelimit") return "RateLimit";
  if (prefix == "beta-ratelimit") return "Beta-RateLimit";
  if (prefix == "ratelimit-") return "RateLimit-...";
  if (prefix == "x-ratelimit-") return "X-RateLimit-...";
  return "X-Rate-Limit-...";
}

}  // namespace headgate::cli
