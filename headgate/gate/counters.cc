#include "headgate/gate/counters.h"

#include <algorithm>
#include <memory>
#include <new>
#include <thread>
#include <unordered_map>
#include <utility>

#include "headgate/store/region.h"

namespace headgate::gate {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;

void add(PolicyCounts& sum, const PolicyTotals& counts) noexcept {
  sum.admitted.fetch_add(counts.admitted, relaxed);
  sum.denied.fetch_add(counts.denied, relaxed);
  sum.shadow_denied.fetch_add(counts.shadow_denied, relaxed);
  sum.refunded.fetch_add(counts.refunded, relaxed);
  sum.cost_defaulted.fetch_add(counts.cost_defaulted, relaxed);
  sum.outage.fetch_add(counts.outage, relaxed);
  sum.delayed.fetch_add(counts.delayed, relaxed);
}

// With more processors than this, processors share shards; also if there are so many policies that
// a generation would have more counts than this, which take 4 MiB.
constexpr std::size_t shards_max = 64;
constexpr std::size_t counts_max = 65536;

store::Region share(std::size_t bytes) {
  auto region = store::Region::anonymous(bytes, store::Sharing::processes);
  if (!region) throw std::bad_alloc();
  return std::move(*region);
}

}  // namespace

struct Counters::Generation {
  explicit Generation(std::vector<std::string> policy_names)
      : names(std::move(policy_names)),
        region(share(shard_size() * shards() * sizeof(PolicyCounts))) {
    auto* first = reinterpret_cast<PolicyCounts*>(region.bytes().data());
    std::uninitialized_value_construct_n(first, shard_size() * shards());
    counts = {first, shard_size() * shards()};
    for (std::size_t i = 0; i < names.size(); ++i) indices.emplace(names[i], i);
  }

  // One per policy, then that of requests.
  [[nodiscard]] std::size_t shard_size() const noexcept { return names.size() + 1; }

  [[nodiscard]] std::size_t shards() const noexcept {
    static const std::size_t processors =
        std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, shards_max);
    return std::clamp<std::size_t>(counts_max / shard_size(), 1, processors);
  }

  void add_totals(std::string_view name, PolicyTotals& sum) const noexcept {
    const auto index = indices.find(name);
    if (index != indices.end()) add_totals(index->second, sum);
  }
  void add_requests(PolicyTotals& sum) const noexcept { add_totals(names.size(), sum); }

  // Adds the counts with this index in each shard.
  void add_totals(std::size_t index, PolicyTotals& sum) const noexcept {
    for (std::size_t i = index; i < counts.size(); i += shard_size()) sum += counts[i];
  }

  // Takes over what another generation has learnt about policies of the same names.
  void learn_from(const Generation& before) noexcept {
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto index = before.indices.find(names[i]);
      if (index == before.indices.end()) continue;
      counts[i].estimate.store(before.counts[index->second].estimate.load(relaxed), relaxed);
    }
  }

  std::vector<std::string> names;
  std::unordered_map<std::string_view, std::size_t> indices;  // of names
  store::Region region;
  std::span<PolicyCounts> counts;
};

std::shared_ptr<Counters> Counters::open(std::vector<std::string> names,
                                         const std::shared_ptr<Counters>& previous) {
  if (previous != nullptr && previous->generations_.front()->names == names) return previous;
  auto fresh = std::make_shared<Counters>();
  fresh->generations_.push_back(std::make_shared<Generation>(std::move(names)));
  if (previous == nullptr) return fresh;
  fresh->generations_.front()->learn_from(*previous->generations_.front());
  for (const std::shared_ptr<Generation>& old : previous->generations_) {
    if (fresh->generations_.size() < generations_max) {
      fresh->generations_.push_back(old);
      continue;
    }
    const Generation& newest = *fresh->generations_.front();
    for (std::size_t i = 0; i < newest.names.size(); ++i) {
      PolicyTotals folded;
      old->add_totals(newest.names[i], folded);
      add(newest.counts[i], folded);
    }
    PolicyTotals requests;
    old->add_requests(requests);
    add(newest.counts[newest.names.size()], requests);
  }
  return fresh;
}

std::span<PolicyCounts> Counters::shards() const noexcept { return generations_.front()->counts; }

PolicyTotals Counters::totals(std::string_view name) const noexcept {
  PolicyTotals sum;
  for (const std::shared_ptr<Generation>& generation : generations_) {
    generation->add_totals(name, sum);
  }
  return sum;
}

PolicyTotals Counters::requests() const noexcept {
  PolicyTotals sum;
  for (const std::shared_ptr<Generation>& generation : generations_) generation->add_requests(sum);
  return sum;
}

}  // namespace headgate::gate
