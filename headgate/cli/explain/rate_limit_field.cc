#include "headgate/cli/explain/rate_limit_field.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "headgate/base/ascii.h"
#include "headgate/field/read/resources.h"
#include "headgate/field/read/response.h"
#include "headgate/field/read/suffixed_reader.h"
#include "headgate/field/retry_after.h"

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

constexpr std::string_view draft_prefix = "ratelimit-";

constexpr std::array<std::pair<std::string_view, Kind>, 6> parts = {{
    {"limit", Kind::limit},
    {"remaining", Kind::remaining},
    {"used", Kind::used},
    {"observed", Kind::used},
    {"reset", Kind::reset},
    {"reset-after", Kind::reset_after},
}};

// The part of a name that is the prefix and a part.
std::optional<Kind> part_of(std::string_view lower, std::string_view prefix) {
  if (!lower.starts_with(prefix)) return std::nullopt;
  for (const auto& [word, kind] : parts) {
    if (lower.substr(prefix.size()) == word) return kind;
  }
  return std::nullopt;
}

}  // namespace

RateLimitField rate_limit_field(std::string_view name) {
  const std::string lower = lowered(name);
  for (const auto& [whole, field] : whole_names) {
    if (lower == whole) return field;
  }
  if (field::is_retry_after_ms(name)) return {Kind::retry_after_ms, {}};
  if (const auto kind = part_of(lower, draft_prefix)) return {*kind, draft_prefix};
  for (const std::string_view prefix : field::vendor_prefixes) {
    if (lower == field::resources_name && lower.starts_with(prefix)) {
      return {Kind::resources, prefix};
    }
    if (const auto kind = part_of(lower, prefix)) return {*kind, prefix};
    if (field::suffixed_name(name, prefix)) return {Kind::suffixed, prefix};
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
  if (prefix == "anthropic-ratelimit-") return "Anthropic-RateLimit-...";
  if (prefix == "x-ms-ratelimit-") return "X-MS-RateLimit-...";
  return "X-Rate-Limit-...";
}

}  // namespace headgate::cli
