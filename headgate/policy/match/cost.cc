#include "headgate/policy/match/cost.h"

#include <algorithm>

#include "headgate/base/ascii.h"
#include "headgate/limit/quota.h"

namespace headgate::policy {
namespace {

constexpr Cost unknown{1, true};

Cost whole(std::uint64_t count) noexcept {
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
      return request.body_bytes ? whole(*request.body_bytes) : unknown;
    case Source::request_header:
      return read(request.headers, header);
    case Source::estimate:
      return {units, false};
    case Source::response_bytes:
    case Source::response_header:
    case Source::response_json:
      break;
  }
  return {1, false};
}

Cost CostRule::of_response(const Response& response) const noexcept {
  if (source == Source::response_bytes) return whole(response.body_bytes);
  if (source == Source::response_header) return read(response.headers, header);
  const auto number = response.numbers == nullptr ? std::nullopt : response.numbers->number(path);
  return number ? whole(*number) : unknown;
}

void CostRule::add_to(FieldsUsed& fields_used) const {
  if (source == Source::request_header) fields_used.request_headers.insert(header);
  if (source == Source::response_header) fields_used.response_headers.insert(header);
  if (source == Source::response_json) fields_used.response_members.insert(path);
}

}  // namespace headgate::policy
