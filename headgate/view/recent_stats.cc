#include "headgate/view/recent_stats.h"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

#include "headgate/base/random.h"
#include "headgate/view/partition_label.h"

namespace headgate::view {
namespace {

// It lies in shared memory without destructors.
static_assert(std::is_trivially_destructible_v<RecentStats>);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

constexpr auto relaxed = std::memory_order_relaxed;
constexpr std::uint64_t second = 1'000'000'000;

void halve(std::atomic<std::uint64_t>& count) noexcept {
  count.store(count.load(relaxed) / 2, std::memory_order_release);
}

}  // namespace

RecentStats::RecentStats() : secret_(random_secret()), random_(random_secret().k0 | 1) {}

void RecentStats::decided_alone(const Labels& labels, std::string_view name, std::string_view key,
                                std::uint64_t cost, bool admitted, Instant now) noexcept {
  begin(now);
  const Listed entry{name, key, key};
  if (!admitted) {
    increase(denied_, 1);
    list(most_denied_, labels, entry, 1, 0);
  }
  if (--until_look_ > 0) return;
  until_look_ = next_look();
  list(busiest_, labels, entry, stride_now_, admitted ? cost * stride_now_ : 0);
}

void RecentStats::adopt() noexcept {
  until_look_ = 1;
  last_denials_.repair();
  if (halvings_.load(relaxed) % 2 == 0) {
    busiest_.repair();
    most_denied_.repair();
    return;
  }
  // Some of the counts are halved and some are not: all of them begin anew.
  busiest_.clear();
  most_denied_.clear();
  for (Count* count : {&halved_at_, &weight_, &requests_, &denied_, &shadow_denied_, &outage_}) {
    count->store(0, std::memory_order_release);
  }
  requests_at_tick_ = 0;
  next_tick_ = 0;
  halvings_.store(halvings_.load(relaxed) + 1, std::memory_order_release);
}

// Runs with the first decision after each second.
void RecentStats::tick(std::uint64_t now) noexcept {
  const std::uint64_t requests = requests_.load(relaxed) - requests_at_tick_;
  stride_now_ = requests > exact_rate ? stride : 1;
  next_tick_ = now + second;
  const std::uint64_t halved_at = halved_at_.load(relaxed);
  if (halved_at == 0) {
    halved_at_.store(now, relaxed);
  } else if (const std::uint64_t times = (now - halved_at) / half_life; times > 0) {
    halvings_.store(halvings_.load(relaxed) + 1, relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);  // for adopt()
    // 64 halvings make every 64-bit count 0.
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(times, 64); ++i) halve();
    halved_at_.store(halved_at + times * half_life, std::memory_order_release);
    halvings_.store(halvings_.load(relaxed) + 1, std::memory_order_release);
  }
  requests_at_tick_ = requests_.load(relaxed);
}

void RecentStats::halve() noexcept {
  weight_.store((weight_.load(relaxed) + half_life) / 2, std::memory_order_release);
  view::halve(requests_);
  view::halve(denied_);
  view::halve(shadow_denied_);
  view::halve(outage_);
  busiest_.halve();
  most_denied_.halve();
}

void RecentStats::note_denials(const Labels& labels, const gate::DecisionContext& context,
                               Instant now) noexcept {
  const bool enforced = context.verdict.outcome == gate::Outcome::denied;
  increase(enforced ? denied_ : shadow_denied_, 1);
  for (std::size_t i = 0; i < context.decided(); ++i) {
    const gate::PolicyDecision one = context.decision(i);
    if (one.decision.admitted) continue;
    list(most_denied_, labels, {one.match.policy->name, one.match.key, one.match.partition}, 1,
         one.enforced ? 0 : 1);
    const Nanos wait = one.decision.wait;
    last_denials_.note(
        labels.id(one.match.own_key),
        {now, one.match.cost, one.decision.remaining, one.match.grant->quota.units,
         wait == limit::Decision::never ? std::nullopt : std::optional(ceil_seconds(wait)),
         one.enforced});
  }
}

void RecentStats::look(const Labels& labels, const gate::DecisionContext& context) noexcept {
  until_look_ = next_look();
  for (std::size_t i = 0; i < context.decided(); ++i) {
    const auto& [match, decision, enforced, taken] = context.decision(i);
    list(busiest_, labels, {match.policy->name, match.key, match.partition}, stride_now_,
         taken ? match.cost * stride_now_ : 0);
  }
}

// Returns how many decisions from now the next sampled one is: random, so that no pattern of
// requests evades the sample, and stride_now_ on average, so that each sampled decision stands for
// stride_now_ decisions.
std::uint64_t RecentStats::next_look() noexcept {
  if (stride_now_ == 1) return 1;
  random_ ^= random_ << 13;
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  return 1 + (random_ >> 32) % (2 * stride_now_ - 1);
}

void RecentStats::list(TopSketch& sketch, const Labels& labels, const Listed& entry,
                       std::uint64_t weight, std::uint64_t also) noexcept {
  if (labels.form() != form_.load(relaxed)) {
    busiest_.clear();
    most_denied_.clear();
    form_.store(labels.form(), std::memory_order_release);
  }
  sketch.add(table_hash(secret_, entry.key).lo, weight, also, [&](char* out) {
    return labels.write(entry.policy, entry.key, entry.partition, out);
  });
}

Recent RecentStats::recent(Instant now, const Labels& in_force) const {
  constexpr auto acquire = std::memory_order_acquire;
  constexpr int attempts = 1000;  // takes longer than a halving, which takes microseconds
  for (int i = 0; i < attempts; ++i) {
    const std::uint64_t halvings = halvings_.load(acquire);
    if (halvings % 2 != 0) continue;
    Recent seen = read(now, in_force);
    if (halvings_.load(relaxed) == halvings) return seen;
  }
  return {};
}

Recent RecentStats::read(Instant now, const Labels& in_force) const {
  constexpr auto acquire = std::memory_order_acquire;
  const std::uint64_t halved_at = halved_at_.load(acquire);
  if (halved_at == 0) return {};

  // The writer halves only when a decision comes: do the halvings that are due.
  double weight = static_cast<double>(weight_.load(acquire));
  double left = 1;
  auto since = static_cast<double>(now.ns - static_cast<Nanos>(halved_at));
  // Below 1e-9 (30 halvings) every rate that is shown with three decimals is 0.
  for (; since >= half_life && left > 1e-9; since -= half_life) {
    weight = (weight + half_life) / 2;
    left /= 2;
  }
  // A rate is taken over at least one second: a shorter time says little.
  const double per_second = left * second / std::max<double>(weight + since, second);

  const auto rate = [&](std::uint64_t count) { return static_cast<double>(count) * per_second; };
  const auto partitions = [&](const TopSketch& sketch) {
    std::vector<Partition> all;
    if (form_.load(acquire) != in_force.form()) return all;
    for (std::size_t i = 0; i < TopSketch::capacity; ++i) {
      const auto entry = sketch.read(i);
      if (!entry || entry->at_least == 0) continue;
      PartitionLabel label = read_label(entry->label);
      all.push_back({std::move(label.policy), std::move(label.key), rate(entry->at_least),
                     rate(entry->at_most), rate(entry->extra), std::move(label.client)});
    }
    return all;
  };
  return {rate(requests_.load(acquire)),
          rate(denied_.load(acquire)),
          rate(shadow_denied_.load(acquire)),
          rate(outage_.load(acquire)),
          partitions(busiest_),
          partitions(most_denied_)};
}

}  // namespace headgate::view
