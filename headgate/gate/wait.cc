// Requests that wait in place of being denied.

#include <algorithm>

#include "headgate/gate/gate.h"

namespace headgate::gate {

// Whether every enforced policy that denied lets requests wait so long. Notes which of them denied
// with the longest wait.
bool Gate::may_wait(DecisionContext& context) const noexcept {
  // A peek answers as a spend would, and nothing of it waits here.
  const bool decides = context.op_ == limit::Op::spend ||
                       (context.op_ == limit::Op::peek && context.waits == Waits::elsewhere);
  if (waiting_.empty() || context.waits == Waits::no || !decides) return false;
  const policy::Policy* waits_for = nullptr;
  Nanos longest = 0;
  for (std::size_t i = 0; i < context.enforced_; ++i) {
    const limit::Decision& decision = context.decisions_[i];
    if (decision.admitted) continue;
    const policy::Match& match = context.match(i);
    if (match.grant->waiting_law == nullptr || context.outages_.test(i)) return false;
    if (decision.wait > match.policy->terms.delay) return false;
    if (decision.wait > longest) waits_for = match.policy;
    longest = std::max(longest, decision.wait);
  }
  context.waits_for_ = waits_for;
  return waits_for != nullptr;
}

// Called when the enforced policies have decided. If they denied a request that may wait, makes the
// bundle that charges it all the same, and returns true. It can still be denied: by others that
// come before it now. The policies in shadow mode have decided already.
bool Gate::begin_wait(DecisionContext& context) const noexcept {
  if (context.waits_for_ != nullptr || !may_wait(context)) return false;
  if (context.waits == Waits::here) {
    WaitingCount& waiting = *waiting_[context.waits_for_->index];
    if (waiting.fetch_add(1, std::memory_order_relaxed) >= context.waits_for_->delay_waiting) {
      waiting.fetch_sub(1, std::memory_order_relaxed);
      context.waits_for_ = nullptr;
      return false;
    }
  }
  for (store::Charge& charge : std::span(context.charges_).first(context.enforced_)) {
    const auto i = static_cast<std::size_t>(&charge - context.charges_.data());
    const policy::Grant& grant = *context.match(i).grant;
    if (grant.waiting_law != nullptr) charge.law = grant.waiting_law.get();
    // They are decided anew, perhaps by another store than before.
    context.outages_.reset(i);
    context.undecided_.reset(i);
  }
  context.verdict.in_outage = context.outages_.any();
  const store::Bundle denied = context.bundles_[0];
  context.bundles_[0] = {denied.charges, denied.decisions};
  context.bundle_count_ = 1;
  context.moment_ = context.given_;
  return true;
}

void Gate::note_wait(DecisionContext& context) const noexcept {
  if (context.waits_for_ == nullptr) return;
  Verdict& verdict = context.verdict;
  verdict.waits_for = context.waits_for_;
  if (verdict.outcome != Outcome::denied) {
    for (std::size_t i = 0; i < context.enforced_; ++i) {
      verdict.hold = std::max(verdict.hold, context.decisions_[i].wait);
    }
  }
  if (verdict.hold > 0) return;
  // Denied, or admitted at once after all.
  if (context.waits == Waits::here) end_wait(verdict);
  verdict.waits_for = nullptr;
}

Waiting Gate::waiting(const Verdict& verdict) const noexcept {
  return Waiting(waiting_[verdict.waits_for->index]);
}

}  // namespace headgate::gate
