#include "headgate/sim/summary.h"

#include <algorithm>
#include <limits>
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

struct Summary::PolicyTotals {
  std::uint64_t admitted = 0;
  std::uint64_t denied = 0;
  std::uint64_t peak = 0;
  std::vector<std::pair<std::string_view, const Partition*>> top_denied;
};

Summary::Summary(std::span<const policy::Policy> policies)
    : policies_(policies), partitions_(policies.size()) {}

void Summary::saw(Instant at) noexcept {
  ++applied_;
  if (!first_ || at < *first_) first_ = at;
  if (!last_ || at > *last_) last_ = at;
}

void Summary::count(const policy::Match& match, std::string_view key, Instant at, bool taken,
                    std::optional<std::uint64_t> remaining) {
  Partitions& partitions = partitions_[match.policy->index];
  auto found = partitions.find(key);
  if (found == partitions.end()) found = partitions.emplace(key, Partition{}).first;
  Partition& partition = found->second;
  partition.window = match.grant->quota.window;
  if (!taken) {
    ++partition.denied;
    return;
  }
  ++partition.admitted;
  const std::uint64_t quota = match.grant->quota.units;
  if (counts_slots(*match.policy)) {
    if (remaining) partition.in_flight = std::max(partition.in_flight, quota - *remaining);
    return;
  }
  std::vector<Admission>& all = partition.admissions;
  const std::uint64_t room =
      all.empty() ? 0 : std::numeric_limits<std::uint64_t>::max() - all.back().units;
  if (!all.empty() && all.back().at == at && match.cost <= room) {
    all.back().units += match.cost;
  } else {
    all.push_back({at, match.cost});
  }
}

// Most units in any half-open span of one window: it may as well start at an admission.
std::uint64_t Summary::peak_units(const Partition& partition) {
  std::vector<Admission> sorted = partition.admissions;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Admission& a, const Admission& b) { return a.at < b.at; });
  u128 units = 0;
  u128 peak = 0;
  auto first = sorted.cbegin();
  for (const Admission& last : sorted) {
    units += last.units;
    while (last.at.ns - first->at.ns >= partition.window && first->at != last.at) {
      units -= first->units;
      ++first;
    }
    peak = std::max(peak, units);
  }
  constexpr u128 most = std::numeric_limits<std::uint64_t>::max();
  return static_cast<std::uint64_t>(std::min(peak, most));
}

Summary::PolicyTotals Summary::totals(std::size_t policy) const {
  PolicyTotals totals;
  for (const auto& [key, partition] : partitions_[policy]) {
    totals.admitted += partition.admitted;
    totals.denied += partition.denied;
    totals.peak = std::max({totals.peak, partition.in_flight, peak_units(partition)});
    if (partition.denied > 0) totals.top_denied.emplace_back(key, &partition);
  }
  auto& top = totals.top_denied;
  const auto end = top.begin() + static_cast<std::ptrdiff_t>(std::min(top.size(), top_denied_max));
  std::partial_sort(top.begin(), end, top.end(), [](const auto& a, const auto& b) {
    return a.second->denied != b.second->denied ? a.second->denied > b.second->denied
                                                : a.first < b.first;
  });
  top.erase(end, top.end());
  return totals;
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
    for (const auto& [key, partition] : totals.top_denied) {
      top.push_back(
          {{"key", key}, {"denied", partition->denied}, {"admitted", partition->admitted}});
    }
    policies.push_back({{"name", policy.name},
                        {"partitions", partitions_[policy.index].size()},
                        {"admitted", totals.admitted},
                        {"denied", totals.denied},
                        {"peak_window_units", totals.peak},
                        {"top_denied", std::move(top)}});
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
    if (policy.mode == policy::Mode::shadow) out += " (shadow)";
    if (policy.mode == policy::Mode::off) out += " (off)";
    out += ": " + count(partitions_[policy.index].size()) + " partitions, " +
           count(totals.admitted) + " admitted, " + count(totals.denied) + " denied, at most " +
           count(totals.peak) + " units " +
           (counts_slots(policy) ? "at the same time\n" : "in one window\n");
    for (const auto& [key, partition] : totals.top_denied) {
      out += "  " + quoted(std::string(key)) + ": " + count(partition->denied) + " denied, " +
             count(partition->admitted) + " admitted\n";
    }
  }
  return out;
}

}  // namespace headgate::sim
