#include "headgate/sim/summary.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace headgate::sim {
namespace {

std::string seconds_text(double seconds) {
  char text[64];
  const int size = std::snprintf(text, sizeof text, "%.10g s", seconds);
  return {text, static_cast<std::size_t>(size)};
}

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

bool counts_slots(const policy::Policy& policy) {
  return policy.terms.algorithm == limit::Algorithm::concurrency;
}

}  // namespace

Summary::Summary(std::span<const policy::Policy> policies, Order order, Watch watch)
    : policies_(policies),
      order_(order),
      watch_(watch),
      partitions_(policies.size()),
      denied_by_others_(policies.size()) {}

void Summary::saw(Instant at) noexcept {
  ++applied_;
  if (!first_ || at < *first_) first_ = at;
  if (!last_ || at > *last_) last_ = at;
}

void Summary::count(const policy::Policy& policy, const policy::Grant& grant, std::string_view key,
                    std::uint64_t units, Instant at, bool taken,
                    std::optional<std::uint64_t> remaining, Nanos wait) {
  if (watch_.policy.value_or(policy.index) != policy.index) return;
  Partitions& partitions = partitions_[policy.index];
  auto found = partitions.find(key);
  if (found == partitions.end()) found = partitions.emplace(key, Partition{}).first;
  Partition& partition = found->second;
  const Nanos window = grant.quota.window;
  partition.window = window;
  ++(taken ? partition.admitted : partition.denied);
  if (taken && wait > 0) ++partition.delayed;
  if (counts_slots(policy)) {
    if (taken && remaining) {
      partition.in_flight = std::max(partition.in_flight, grant.quota.units - *remaining);
    }
    return;
  }
  const auto measure = [&](std::unique_ptr<BusiestWindow>& busiest, Nanos moment) {
    if (busiest == nullptr) busiest = std::make_unique<BusiestWindow>();
    busiest->add({moment}, units, window, order_);
  };
  if (watch_.measure == Measure::all) measure(partition.offered, at.ns);
  if (watch_.measure != Measure::nothing && taken) measure(partition.taken, at.ns + wait);
}

PartitionTotals Summary::totals(std::string_view key, const Partition& partition) const {
  PartitionTotals totals{key, partition.admitted, partition.denied, partition.delayed};
  const auto units = [&](const std::unique_ptr<BusiestWindow>& busiest) {
    return busiest == nullptr ? 0 : busiest->units(partition.window, order_);
  };
  totals.peak = std::max(partition.in_flight, units(partition.taken));
  totals.offered = units(partition.offered);
  return totals;
}

PolicyTotals Summary::totals(std::size_t policy) const {
  PolicyTotals totals;
  totals.policy = &policies_[policy];
  totals.partitions = partitions_[policy].size();
  totals.denied_by_others = denied_by_others_[policy];
  auto& top = totals.top_denied;
  each_partition(policy, [&](const PartitionTotals& partition) {
    totals.admitted += partition.admitted;
    totals.denied += partition.denied;
    totals.delayed += partition.delayed;
    totals.peak = std::max(totals.peak, partition.peak);
    if (partition.denied == 0) return;
    ++totals.partitions_denied;
    top.push_back(partition);
  });
  const auto end = top.begin() + static_cast<std::ptrdiff_t>(std::min(top.size(), top_denied_max));
  std::partial_sort(top.begin(), end, top.end(),
                    [](const PartitionTotals& a, const PartitionTotals& b) {
                      return a.denied != b.denied ? a.denied > b.denied : a.key < b.key;
                    });
  top.erase(end, top.end());
  return totals;
}

void Summary::each_partition(std::size_t policy,
                             const std::function<void(const PartitionTotals&)>& act) const {
  for (const auto& [key, partition] : partitions_[policy]) act(totals(key, partition));
}

double Summary::span_seconds() const noexcept {
  return first_ ? static_cast<double>(last_->ns - first_->ns) / 1e9 : 0.0;
}

std::string Summary::json() const {
  using Json = nlohmann::ordered_json;
  Json policies = Json::array();
  for (const policy::Policy& policy : policies_) {
    const PolicyTotals totals = this->totals(policy.index);
    Json top = Json::array();
    for (const PartitionTotals& one : totals.top_denied) {
      top.push_back({{"key", one.key}, {"denied", one.denied}, {"admitted", one.admitted}});
    }
    Json one = {{"name", policy.name},
                {"partitions", totals.partitions},
                {"admitted", totals.admitted},
                {"denied", totals.denied},
                {"peak_window_units", totals.peak},
                {"top_denied", std::move(top)}};
    if (policy.terms.delay > 0) one["delayed"] = totals.delayed;
    policies.push_back(std::move(one));
  }
  const Json all = {{"requests", admitted_ + denied_}, {"skipped", skipped_},
                    {"span_s", span_seconds()},        {"policies", std::move(policies)},
                    {"admitted", admitted_},           {"denied", denied_}};
  return all.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

std::string Summary::text() const {
  const auto count = [](std::uint64_t n) { return std::to_string(n); };
  std::string out = count(admitted_ + denied_) + " requests in " + seconds_text(span_seconds()) +
                    ": " + count(admitted_) + " admitted, " + count(denied_) + " denied";
  if (skipped_ > 0) out += "; " + count(skipped_) + " lines skipped";
  out += '\n';
  for (const policy::Policy& policy : policies_) {
    const PolicyTotals totals = this->totals(policy.index);
    out += "policy " + quoted(policy.name);
    if (policy.in_shadow()) out += " (shadow)";
    if (policy.mode == policy::Mode::off) out += " (off)";
    out += ": " + count(partitions_[policy.index].size()) + " partitions, " +
           count(totals.admitted) + " admitted" +
           (totals.delayed > 0 ? " (" + count(totals.delayed) + " after a wait)" : "") + ", " +
           count(totals.denied) + " denied, at most " + count(totals.peak) + " units " +
           (counts_slots(policy) ? "at the same time\n" : "in one window\n");
    for (const PartitionTotals& one : totals.top_denied) {
      out += "  " + quoted(std::string(one.key)) + ": " + count(one.denied) + " denied, " +
             count(one.admitted) + " admitted\n";
    }
  }
  return out;
}

}  // namespace headgate::sim
