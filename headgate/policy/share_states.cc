#include "headgate/policy/share_states.h"

#include "headgate/limit/shared.h"

namespace headgate::policy {

StateKind state_kind(const limit::Terms& terms, const Grant& grant) noexcept {
  const bool owes =
      terms.algorithm == limit::Algorithm::fixed_window && (terms.late || terms.delay > 0);
  const limit::Shared* const shared = grant.shared.get();
  return {.window = grant.quota.window,
          .debt = owes ? grant.quota.units : 0,
          .law = grant.law.index(),
          .outage_law = shared != nullptr ? shared->outage_law.index() : grant.law.index(),
          .leased = shared != nullptr && shared->leased > 0};
}

void StateKind::append_to(std::string& out, const StateKind& own) const {
  constexpr auto second = static_cast<std::uint64_t>(nanos_per_second);
  out += std::to_string(static_cast<std::uint64_t>(window / nanos_per_second));
  const auto nanos = static_cast<std::uint64_t>(window % nanos_per_second);
  if (nanos > 0) out += '.' + std::to_string(second + nanos).substr(1);
  if (debt != own.debt) out += "/debt";
  if (law != own.law) out += "/law";
  if (outage_law != own.outage_law) out += "/outage";
  if (leased != own.leased) out += "/leased";
}

}  // namespace headgate::policy
