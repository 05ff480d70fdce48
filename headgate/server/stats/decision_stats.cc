#include "headgate/server/stats/decision_stats.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "headgate/base/random.h"
#include "headgate/server/stats/partition_label.h"

namespace headgate::server {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;
constexpr std::uint64_t second = 1'000'000'000;

void halve(std::atomic<std::uint64_t>& count) noexcept {
  count.store(count.load(relaxed) / 2, std::memory_order_release);
}

}  // namespace

DecisionStats::DecisionStats() : secret_(random_secret()), random_(random_secret().k0 | 1) {}

void DecisionStats::decided_alone(DoorKind door, const PolicySnapshot& snapshot,
                                  std::string_view name, std::string_view key, std::uint64_t cost,
                                  bool admitted, Instant now, Nanos took) noexcept {
  at(door).latency.add(static_cast<std::uint64_t>(took));
  increase(admitted ? alone_.admitted : alone_.denied, 1);
  begin(now);
  const Listed entry{name, key, key};
  if (!admitted) {
    increase(denied_, 1);
    list(most_denied_, snapshot, entry, 1, 0);
  }
  if (--until_look_ > 0) return;
  until_look_ = next_look();
  list(busiest_, snapshot, entry, stride_now_, admitted ? cost * stride_now_ : 0);
}

// Runs with the first decision after each second.
void DecisionStats::tick(std::uint64_t now) noexcept {
  const std::uint64_t requests = requests_.load(relaxed) - requests_at_tick_;
  stride_now_ = requests > exact_rate ? stride : 1;
  next_tick_ = now + second;
  const std::uint64_t halved_at = halved_at_.load(relaxed);
  if (halved_at == 0) {
    halved_at_.store(now, relaxed);
  } else if (const std::uint64_t times = (now - halved_at) / half_life; times > 0) {
    halvings_.store(halvings_.load(relaxed) + 1, relaxed);
    // 64 halvings make every 64-bit count 0.
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(times, 64); ++i) halve();
    halved_at_.store(halved_at + times * half_life, std::memory_order_release);
    halvings_.store(halvings_.load(relaxed) + 1, std::memory_order_release);
  }
  requests_at_tick_ = requests_.load(relaxed);
}

void DecisionStats::halve() noexcept {
  weight_.store((weight_.load(relaxed) + half_life) / 2, std::memory_order_release);
  server::halve(requests_);
  server::halve(denied_);
  server::halve(shadow_denied_);
  server::halve(outage_);
  busiest_.halve();
  most_denied_.halve();
}

void DecisionStats::note_denials(const PolicySnapshot& snapshot,
                                 const gate::DecisionContext& context) noexcept {
  const bool enforced = context.verdict.outcome == gate::Outcome::denied;
  increase(enforced ? denied_ : shadow_denied_, 1);
  for (std::size_t i = 0; i < context.decided(); ++i) {
    const gate::PolicyDecision one = context.decision(i);
    if (one.decision.admitted) continue;
    list(most_denied_, snapshot, {one.match.policy->name, one.match.key, one.match.partition}, 1,
         one.enforced ? 0 : 1);
  }
}

void DecisionStats::look(const PolicySnapshot& snapshot,
                         const gate::DecisionContext& context) noexcept {
  until_look_ = next_look();
  for (std::size_t i = 0; i < context.decided(); ++i) {
    const auto& [match, decision, enforced, taken] = context.decision(i);
    list(busiest_, snapshot, {match.policy->name, match.key, match.partition}, stride_now_,
         taken ? match.cost * stride_now_ : 0);
  }
}

// Returns how many decisions from now the next sampled one is: random, so that no pattern of
// requests evades the sample, and stride_now_ on average, so that each sampled decision stands for
// stride_now_ decisions.
std::uint64_t DecisionStats::next_look() noexcept {
  if (stride_now_ == 1) return 1;
  random_ ^= random_ << 13;
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  return 1 + (random_ >> 32) % (2 * stride_now_ - 1);
}

void DecisionStats::list(TopSketch& sketch, const PolicySnapshot& snapshot, const Listed& entry,
                         std::uint64_t weight, std::uint64_t also) noexcept {
  if (snapshot.reading() != snapshot_.load(relaxed)) {
    busiest_.clear();
    most_denied_.clear();
    snapshot_.store(snapshot.reading(), std::memory_order_release);
  }
  sketch.add(table_hash(secret_, entry.key).lo, weight, also, [&](char* out) {
    const Hash128 client = snapshot.gate().opaque(entry.partition);
    const bool shown = snapshot.policies().settings().partition_key == policy::PartitionKey::plain;
    return shown ? write_plain_label(entry.policy, entry.partition, client, out)
                 : write_opaque_label(entry.policy, snapshot.gate().opaque(entry.key), client, out);
  });
}

void DecisionStats::add_to(DoorTotals& totals, DoorKind door) const noexcept {
  const Door& seen = doors_[static_cast<std::size_t>(door)];
  totals.latency += seen.latency;
  totals.opened += seen.opened.load(relaxed);
  totals.closed += seen.closed.load(relaxed);
  totals.refused += seen.refused.load(relaxed);
  totals.crowded_out += seen.crowded_out.load(relaxed);
  totals.wrong_tokens += seen.wrong_tokens.load(relaxed);
}

DecisionStats::Recent DecisionStats::recent(Instant now, const PolicySnapshot& in_force) const {
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

DecisionStats::Recent DecisionStats::read(Instant now, const PolicySnapshot& in_force) const {
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
    if (snapshot_.load(acquire) != in_force.reading()) return all;
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

}  // namespace headgate::server
