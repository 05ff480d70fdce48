#include "headgate/field/family.h"

#include <algorithm>

namespace headgate::field {
namespace {

// `lower` is in lower case.
bool begins_with(std::string_view name, std::string_view lower) noexcept {
  return name.size() >= lower.size() &&
         std::equal(lower.begin(), lower.end(), name.begin(), [](char l, char c) {
           return l == (c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c);
         });
}

}  // namespace

Family family_of(std::string_view name) noexcept {
  constexpr std::string_view ratelimit = "ratelimit";
  constexpr std::string_view policy = "ratelimit-policy";
  if (begins_with(name, ratelimit)) {
    if (name.size() == ratelimit.size()) return Family::ratelimit;
    if (name[ratelimit.size()] != '-') return Family::other;
    return name.size() == policy.size() && begins_with(name, policy) ? Family::policy
                                                                     : Family::trio;
  }
  return begins_with(name, "x-ratelimit-") || begins_with(name, "x-rate-limit-")
             ? Family::x_ratelimit
             : Family::other;
}

}  // namespace headgate::field
