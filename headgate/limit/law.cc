#include "headgate/limit/law.h"

namespace headgate::limit {

std::optional<Law> linear_law(const Quota& quota, const Terms& terms) noexcept {
  if (quota.units == 0 && quota.window >= 1 && quota.window <= Quota::window_max) return Closed{};
  if (const auto whole = LinearWhole::make(quota, terms)) return *whole;
  if (const auto exact = LinearExact::make(quota, terms)) return *exact;
  return std::nullopt;
}

bool denial_costs(const Law& law) noexcept {
  return std::visit([](const auto& alternative) { return alternative.denial_costs(); }, law);
}

}  // namespace headgate::limit
