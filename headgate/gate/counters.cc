#include "headgate/gate/counters.h"

#include <algorithm>
#include <memory>
#include <new>
#include <thread>
#include <utility>

#include "headgate/store/region.h"

namespace headgate::gate {
namespace {

void add(PolicyCounts& sum, const PolicyTotals& counts) noexcept {
  constexpr auto relaxed = std::memory_order_relaxed;
  sum.admitted.fetch_add(counts.admitted, relaxed);
  sum.denied.fetch_add(counts.denied, relaxed);
  sum.shadow_denied.fetch_add(counts.shadow_denied, relaxed);
  sum.refunded.fetch_add(counts.refunded, relaxed);
  sum.cost_defaulted.fetch_add(counts.cost_defaulted, relaxed);
}

// With more processors than this, processors share shards. At 128 policies the shards take 512 KiB
// per generation.
constexpr std::size_t shards_max = 64;

store::Region share(std::size_t bytes) {
  auto region = store::Region::anonymous(bytes, store::Sharing::processes);
  if (!region) throw std::bad_alloc();
  return std::move(*region);
}

}  // namespace

struct Counters::Generation {
  explicit Generation(std::vector<std::string> policy_names)
      : names(std::move(policy_names)),
        // One more, because a mapping cannot be empty.
        region(share((names.size() * shards() + 1) * sizeof(PolicyCounts))) {
    auto* first = reinterpret_cast<PolicyCounts*>(region.bytes().data());
    std::uninitialized_value_construct_n(first, names.size() * shards());
    counts = {first, names.size() * shards()};
  }

  static std::size_t shards() noexcept {
    static const std::size_t processors =
        std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, shards_max);
    return processors;
  }

  void add_totals(std::string_view name, PolicyTotals& sum) const noexcept {
    const auto index =
        static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
    if (index == names.size()) return;
    for (std::size_t i = index; i < counts.size(); i += names.size()) sum += counts[i];
  }

  std::vector<std::string> names;
  store::Region region;
  std::span<PolicyCounts> counts;
};

std::shared_ptr<Counters> Counters::open(std::vector<std::string> names,
                                         const std::shared_ptr<Counters>& previous) {
  if (previous != nullptr && previous->generations_.front()->names == names) return previous;
  auto fresh = std::make_shared<Counters>();
  fresh->generations_.push_back(std::make_shared<Generation>(std::move(names)));
  if (previous == nullptr) return fresh;
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

}  // namespace headgate::gate
