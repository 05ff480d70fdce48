#include "headgate/field/read/family.h"

#include <algorithm>

#include "headgate/field/header_line.h"

namespace headgate::field {
namespace {

// `lower` is in lower case.
bool begins_with(std::string_view name, std::string_view lower) noexcept {
  return equal_ignoring_case(name.substr(0, lower.size()), lower);
}

// RateLimit itself, or a name that begins with RateLimit-.
Family family_without_prefix(std::string_view name) noexcept {
  constexpr std::string_view ratelimit = "ratelimit";
  constexpr std::string_view policy = "ratelimit-policy";
  if (!begins_with(name, ratelimit)) return Family::other;
  if (name.size() == ratelimit.size()) return Family::ratelimit;
  if (name[ratelimit.size()] != '-') return Family::other;
  return name.size() == policy.size() && begins_with(name, policy) ? Family::policy
                                                                   : Family::limit_fields;
}

}  // namespace

Family family_of(std::string_view name) noexcept {
  constexpr std::string_view beta = "beta-";
  if (begins_with(name, "x-ratelimit-") || begins_with(name, "x-rate-limit-")) {
    return Family::x_ratelimit;
  }
  if (begins_with(name, beta)) {
    const Family family = family_without_prefix(name.substr(beta.size()));
    return family == Family::ratelimit || family == Family::policy ? Family::beta : Family::other;
  }
  return family_without_prefix(name);
}

}  // namespace headgate::field
