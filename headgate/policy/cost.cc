#include "headgate/policy/cost.h"

#include <algorithm>

#include "headgate/limit/quota.h"
#include "headgate/policy/text.h"

namespace headgate::policy {
namespace {

constexpr Cost unknown{1, true};

Cost read(std::string_view text) noexcept {
  if (text.empty()) return unknown;
  std::uint64_t units = 0;
  for (const char c : text) {
    if (!is_digit(c)) return unknown;
    units = std::min(units * 10 + static_cast<std::uint64_t>(c - '0'), limit::Quota::cost_max);
  }
  return {units, false};
}

}  // namespace

Cost CostRule::of(const Request& request) const noexcept {
  switch (source) {
    case Source::fixed:
      return {units, false};
    case Source::request_bytes:
      if (!request.body_bytes) return unknown;
      return {std::min(*request.body_bytes, limit::Quota::cost_max), false};
    case Source::request_header: {
      const auto line = request.headers->line(header, 0);
      if (!line || request.headers->line(header, 1)) return unknown;
      return read(*line);
    }
  }
  return unknown;
}

}  // namespace headgate::policy
