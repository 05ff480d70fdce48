#include "headgate/limit/testing/boulder_buckets.h"

#include <algorithm>

namespace headgate::limit {
namespace {

bool stricter(const BoulderAnswer& a, const BoulderAnswer& b) noexcept {
  if (a.decision.admitted != b.decision.admitted) return !a.decision.admitted;
  if (a.retry_in != b.retry_in) return a.retry_in > b.retry_in;
  return a.decision.remaining < b.decision.remaining;
}

Nanos ahead(const std::optional<BoulderLimit::Tat>& tat, Instant now) noexcept {
  return tat ? std::max(Nanos{0}, *tat - now.ns) : 0;
}

BoulderAnswer no_bucket() noexcept { return {.unlimited = true, .decision = {.admitted = true}}; }

}  // namespace

std::optional<BoulderLimit> BoulderLimit::make(std::uint64_t burst, std::uint64_t count,
                                               Nanos period, Reset reset) noexcept {
  const std::optional<Quota> quota = boulder_quota(burst, count, period);
  if (!quota) return std::nullopt;
  const auto law = LinearExact::make(*quota, {.reset = reset});
  if (!law) return std::nullopt;
  return BoulderLimit(*quota, *law);
}

std::optional<BoulderError> BoulderLimit::refusal(std::int64_t cost) const noexcept {
  if (cost < 0) return BoulderError::cost_negative;
  if (static_cast<std::uint64_t>(cost) > quota_.units) return BoulderError::cost_over_burst;
  return std::nullopt;
}

// Reduces a TAT that is later than the time to fill an empty bucket.
void BoulderLimit::limit_tat(std::optional<Tat>& tat, Instant now) const noexcept {
  const Step<Tat> seen = law_.peek(tat, 0, now);
  if (seen.changed) tat = seen.state;
}

// What spending `cost` would return. Changes nothing.
BoulderAnswer BoulderLimit::spend_answer(const std::optional<Tat>& tat, std::uint64_t cost,
                                         Instant now) const noexcept {
  const Step<Tat> step = law_.spend(tat, cost, now);
  const std::optional<Tat> after = step.changed ? step.state : tat;
  return {.decision = step.decision,
          .retry_in = law_.peek(after, cost, now).decision.wait,
          .reset_in = ahead(after, now)};
}

Result<BoulderAnswer, BoulderError> BoulderLimit::refund(std::optional<Tat>& tat, std::int64_t cost,
                                                         Instant now) const noexcept {
  if (const auto error = refusal(cost)) return Failure<BoulderError>(*error);
  if (!tat) return no_bucket();
  limit_tat(tat, now);
  const Step<Tat> step = law_.refund(tat, static_cast<std::uint64_t>(cost), now);
  if (step.changed) tat = step.state;
  BoulderAnswer answer{.decision = step.decision, .reset_in = ahead(tat, now)};
  answer.decision.admitted = step.changed;
  return answer;
}

Result<BoulderAnswer, BoulderError> boulder_batch(std::span<const BoulderCharge> charges,
                                                  Instant now) noexcept {
  using Kind = BoulderCharge::Kind;
  for (std::size_t i = 0; i < charges.size(); ++i) {
    if (charges[i].kind == Kind::allow) continue;
    if (const auto error = charges[i].limit->refusal(charges[i].cost)) {
      return Failure<BoulderError>(*error);
    }
    for (const BoulderCharge& before : charges.first(i)) {
      if (before.kind != Kind::allow && before.bucket == charges[i].bucket) {
        return Failure<BoulderError>(BoulderError::duplicate_bucket);
      }
    }
  }
  std::optional<BoulderAnswer> strictest;
  for (const BoulderCharge& charge : charges) {
    if (charge.kind == Kind::allow) continue;
    charge.limit->limit_tat(*charge.tat, now);
    if (charge.kind == Kind::spend) continue;
    const BoulderAnswer answer =
        charge.limit->spend_answer(*charge.tat, static_cast<std::uint64_t>(charge.cost), now);
    if (!strictest || stricter(answer, *strictest)) strictest = answer;
  }
  if (strictest && !strictest->decision.admitted) return *strictest;
  for (const BoulderCharge& charge : charges) {
    if (charge.kind != Kind::check_spend && charge.kind != Kind::spend) continue;
    const auto step =
        charge.limit->law_.spend(*charge.tat, static_cast<std::uint64_t>(charge.cost), now);
    if (!step.decision.admitted) continue;
    if (step.changed) *charge.tat = step.state;
    // A bucket gets a TAT even if the cost is 0.
    *charge.tat = std::max(charge.tat->value_or(now.ns), now.ns);
  }
  return strictest.value_or(no_bucket());
}

}  // namespace headgate::limit
