#include "headgate/policy/match/cost.h"

#include <algorithm>

#include "headgate/base/ascii.h"
#include "headgate/limit/quota.h"

namespace headgate::policy {
namespace {

constexpr Cost unknown{1, true};

Cost bytes(std::uint64_t count) noexcept {
  return {std::min(count, limit::Quota::cost_max), false};
}

Cost read(std::string_view text) noexcept {
  if (text.empty()) return unknown;
  std::uint64_t units = 0;
  for (const char c : text) {
    if (!is_digit(c)) return unknown;
    units = std::min(units * 10 + static_cast<std::uint64_t>(c - '0'), limit::Quota::cost_max);
  }
  return {units, false};
}

Cost read(const Headers* headers, const std::string& name) noexcept {
  if (headers == nullptr) return unknown;
  const auto line = headers->value(name, 0);
  if (!line || headers->value(name, 1)) return unknown;
  return read(*line);
}

}  // namespace

Cost CostRule::of(const Request& request) const noexcept {
  switch (source) {
    case Source::fixed:
      return {units, false};
    case Source::request_bytes:
      return request.body_bytes ? bytes(*request.body_bytes) : unknown;
    case Source::request_header:
      return read(request.headers, header);
    case Source::response_bytes:
    case Source::response_header:
      break;
  }
  return {1, false};
}

Cost CostRule::of_response(const Response& response) const noexcept {
  return source == Source::response_bytes ? bytes(response.body_bytes)
                                          : read(response.headers, header);
}

}  // namespace headgate::policy
