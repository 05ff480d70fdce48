// The steps of one request: match, charge, merge, report.

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

#include "headgate/gate/gate.h"

namespace headgate::gate {
namespace {

// Whether denial `a` is the one to report: the longer wait, then fewer units left.
bool stricter(const limit::Decision& a, const limit::Decision& b) noexcept {
  return a.wait != b.wait ? a.wait > b.wait : a.remaining < b.remaining;
}

}  // namespace

void Gate::admit(const policy::Request& request, std::optional<Instant> now, DryRun dry_run,
                 DecisionContext& context, store::Completion done) const noexcept {
  if (!prefetch(request, now, dry_run, context)) return done.call(done.context);
  admit(context, done);
}

bool Gate::prefetch(const policy::Request& request, std::optional<Instant> now, DryRun dry_run,
                    DecisionContext& context) const noexcept {
  begin(now, context);
  std::span<const policy::Match> matches;
  try {
    matches = policies_->match(request, context.scratch_);
    context.make_room(matches.size());
  } catch (const std::bad_alloc&) {
    matches = {};  // the request is not limited
  }
  context.matched_ = matches.size();
  if (context.scratch_.refusal != policy::Refusal::none) {
    context.op_ = limit::Op::spend;
    context.verdict.refusal = context.scratch_.refusal;
    context.verdict.outcome = dry_run == DryRun::no ? Outcome::denied : Outcome::shadow_denied;
    return true;
  }
  if (matches.empty()) return false;
  if (estimates_) {
    for (policy::Match& match : context.scratch_.matches) {
      if (match.policy->estimate_percent != 0) match.cost = reserved(*match.policy, *match.grant);
    }
  }
  charge(matches, dry_run, limit::Op::spend, context);
  return true;
}

void Gate::admit(DecisionContext& context, store::Completion done) const noexcept {
  if (context.verdict.refusal != policy::Refusal::none) {
    count(context);
    return done.call(done.context);
  }
  context.done_ = done;
  take<&Gate::merge>(context);
}

// Makes the bundles: enforced policies all or none, each shadow policy as if alone.
void Gate::charge(std::span<const policy::Match> matches, DryRun dry_run, limit::Op op,
                  DecisionContext& context) const noexcept {
  context.op_ = op;
  const auto enforced = [&](const policy::Match& match) {
    return dry_run == DryRun::no && match.enforced();
  };
  std::size_t charges = 0;
  const auto charge = [&](std::size_t match) {
    const policy::Match& m = matches[match];
    const bool late = op == limit::Op::spend && m.policy->is_late();
    context.charges_[charges] = {&m.grant->law, m.key, late ? admission_cost(m) : m.cost,
                                 late ? limit::Op::peek : op};
    context.charges_[charges].shared = m.grant->shared.get();
    context.match_of_[charges++] = static_cast<std::uint8_t>(match);
  };
  for (std::size_t i = 0; i < matches.size(); ++i) {
    if (enforced(matches[i])) charge(i);
  }
  context.enforced_ = charges;
  for (std::size_t i = 0; i < matches.size(); ++i) {
    if (!enforced(matches[i])) charge(i);
  }
  store_.prefetch(std::span(context.charges_).first(charges));
  context.bundle_count_ = 0;
  const auto bundle = [&](std::size_t from, std::size_t count) {
    context.bundles_[context.bundle_count_++] = {
        std::span(context.charges_).subspan(from, count),
        std::span(context.decisions_).subspan(from, count)};
  };
  if (context.enforced_ > 0) bundle(0, context.enforced_);
  for (std::size_t i = context.enforced_; i < charges; ++i) bundle(i, 1);
}

// Notes which charges the store has decided without the store that machines share, or not at all.
void Gate::note_outages(DecisionContext& context) noexcept {
  for (const store::Bundle& bundle : std::span(context.bundles_).first(context.bundle_count_)) {
    if (!bundle.outage && !bundle.remembered) continue;
    for (const store::Charge& charge : bundle.charges) {
      const auto i = static_cast<std::size_t>(&charge - context.charges_.data());
      if (bundle.undecided) context.undecided_.set(i);
      if (charge.shared == nullptr) continue;
      if (bundle.outage) {
        context.outages_.set(i);
        context.verdict.in_outage = true;
      }
      if (bundle.remembered && context.decisions_[i].admitted) context.undecided_.set(i);
    }
  }
}

void Gate::merge(DecisionContext& context) const noexcept {
  if (begin_wait(context)) return take<&Gate::merge>(context);
  context.now = *context.moment_;
  conclude(context);
  context.done_.call(context.done_.context);
}

void Gate::conclude(DecisionContext& context) const noexcept {
  Verdict& verdict = context.verdict;
  const limit::Decision* strictest = nullptr;
  std::size_t violated = 0;
  bool shadow_violated = false;
  for (std::size_t i = 0; i < context.matched_; ++i) {
    const limit::Decision& decision = context.decisions_[i];
    const policy::Policy& policy = *context.match(i).policy;
    const bool enforced = context.is_enforced(i);
    if (enforced && !context.is_hidden(i)) {
      verdict.remaining =
          std::min(verdict.remaining.value_or(decision.remaining), decision.remaining);
    }
    if (decision.admitted) continue;
    if (!enforced) {
      shadow_violated = true;
      if (violated > 0) continue;
    } else if (violated == 0 || context.violated_[violated - 1] != &policy) {
      context.violated_[violated++] = &policy;  // a domain's descriptors are one policy
    }
    if (strictest == nullptr || stricter(decision, *strictest)) {
      strictest = &decision;
      verdict.denier = &policy;
      verdict.is_outage = context.denied_by_outage(i);
    }
  }
  verdict.violated = std::span(context.violated_).first(violated);
  verdict.outcome = violated > 0      ? Outcome::denied
                    : shadow_violated ? Outcome::shadow_denied
                                      : Outcome::admitted;
  note_wait(context);
  if (settles_ || context.reserves_) list_dues(context);
  std::uint64_t extra = 0;
  if (violated > 0 && strictest->wait != limit::Decision::never) {
    extra = jitter(strictest->wait, context);
    verdict.retry_after = std::min(strictest->retry_after() + extra, field_integer_max);
  }
  itemise(context, extra);
  count(context);
}

// Fills verdict.dues: what was charged and may have to be settled.
void Gate::list_dues(DecisionContext& context) const noexcept {
  std::size_t dues = 0;
  for (std::size_t i = 0; i < context.matched_; ++i) {
    const policy::Match& match = context.match(i);
    if (!context.reserves_ && !match.policy->is_settled()) continue;
    if (!context.taken(i)) continue;
    const bool alone = context.counted_alone(i);
    const bool counted = alone || !context.is_hidden(i);
    if (!counted && !match.policy->is_late()) continue;
    // A late cost was not taken yet: what it will have left is not known, so nothing is assumed.
    const std::uint64_t remaining = match.policy->is_late() ? 0 : context.decisions_[i].remaining;
    context.dues_[dues++] = {match.policy, match.grant, match.key, match.cost, alone, remaining};
  }
  context.verdict.dues = std::span(context.dues_).first(dues);
}

// Fills verdict.items: what the response fields report, in file order. `extra` [s] is added to the
// resets of denials.
void Gate::itemise(DecisionContext& context, std::uint64_t extra) const noexcept {
  const policy::Settings& settings = policies_->settings();
  if (settings.fields.empty()) return;
  const bool denied = context.verdict.outcome == Outcome::denied;
  if (settings.report_when == policy::ReportWhen::denied && !denied) return;

  const auto waited = static_cast<std::uint64_t>(
      context.waits == Waits::here ? context.verdict.hold / nanos_per_second : 0);
  bool below = false;
  std::size_t count = 0;
  for (std::size_t i = 0; i < context.enforced_; ++i) {
    const limit::Decision& decision = context.decisions_[i];
    const policy::Grant& grant = *context.match(i).grant;
    if (!grant.reported || context.is_hidden(i)) continue;
    if (decision.remaining * 100 < grant.quota.units * settings.report_below_percent) below = true;
    Item& item = context.items_[count++] = this->item(context, i);
    if (item.denied && item.reset != limit::Decision::no_reset) item.reset += extra;
    // Of a request that waits here, the fields are sent after that.
    if (item.remaining == 0 && item.reset != limit::Decision::no_reset) {
      item.reset -= std::min(item.reset, waited);
    }
  }
  if (settings.report_when == policy::ReportWhen::below && !denied && !below) return;

  std::span<Item> items = std::span(context.items_).first(count);
  const bool few = settings.report == policy::Report::few && count <= policy::report_few_max;
  if (settings.report != policy::Report::all && !few) {
    items = items.first(field_writer_.keep_closest(items));
  }
  context.verdict.items = items;
}

Item Gate::item(DecisionContext& context, std::size_t charge) const noexcept {
  const policy::Match& match = context.match(charge);
  const limit::Decision& decision = context.decisions_[charge];
  Item item;
  item.policy = static_cast<std::uint16_t>(match.policy->index);
  item.denied = !decision.admitted;
  item.grant = static_cast<std::uint32_t>(match.grant - match.policy->grants.data());
  item.remaining = decision.remaining;
  item.reset = decision.reset;
  switch (policies_->settings().partition_key) {
    case policy::PartitionKey::omit:
      break;
    case policy::PartitionKey::opaque: {
      const Hash128 hash = opaque(match.key);
      std::array<char, 16>& pk = context.opaque_pks_[charge];
      pk = std::bit_cast<std::array<char, 16>>(hash);
      item.pk = {pk.data(), pk.size()};
      break;
    }
    case policy::PartitionKey::plain:
      item.pk = match.partition;
      break;
  }
  return item;
}

// Returns seconds to add to a wait: random, between 0 and the configured percentage of the wait.
// The same wait at the same instant gets the same result, so that parallel requests gain nothing.
std::uint64_t Gate::jitter(Nanos wait, const DecisionContext& context) const noexcept {
  const unsigned percent = policies_->settings().jitter_percent;
  if (percent == 0) return 0;
  const auto moment = std::bit_cast<std::array<char, sizeof(Instant)>>(context.now);
  const std::uint64_t random =
      public_hash(pk_secret_, std::string_view(moment.data(), moment.size())).lo;
  const Nanos most = wait / 100 * percent;
  const Nanos extra = (most >> 32) * (static_cast<Nanos>(random >> 32)) +
                      ((most & 0xffffffff) * static_cast<Nanos>(random >> 32) >> 32);
  return ceil_seconds(wait + extra) - ceil_seconds(wait);
}

void Gate::count(const DecisionContext& context) const noexcept {
  if (counts_.empty() || context.op_ == limit::Op::peek) return;
  const auto add = [](std::atomic<std::uint64_t>& counter) {
    counter.fetch_add(1, std::memory_order_relaxed);
  };
  const std::span<PolicyCounts> shard = this->shard();
  for (std::size_t i = 0; i < context.matched_; ++i) {
    const policy::Match& match = context.match(i);
    PolicyCounts& counts = shard[match.policy->index];
    if (context.charges_[i].op == limit::Op::refund) {
      add(counts.refunded);
      continue;
    }
    if (context.outages_.test(i)) add(counts.outage);
    if (context.verdict.hold > 0 && context.is_enforced(i) && context.decisions_[i].wait > 0) {
      add(counts.delayed);
    }
    if (match.cost_defaulted) add(counts.cost_defaulted);
    if (!context.decisions_[i].admitted) {
      add(context.is_enforced(i) ? counts.denied : counts.shadow_denied);
    } else if (context.taken(i)) {
      add(counts.admitted);
    }
  }
  if (context.op_ != limit::Op::spend) return;
  PolicyCounts& requests = shard.back();
  switch (context.verdict.outcome) {
    case Outcome::off:
      break;
    case Outcome::admitted:
      return add(requests.admitted);
    case Outcome::shadow_denied:
      return add(requests.shadow_denied);
    case Outcome::denied:
      return add(requests.denied);
  }
}

}  // namespace headgate::gate
