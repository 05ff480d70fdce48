#include "headgate/nginx/counters.h"

#include <sys/mman.h>

#include <memory>
#include <new>
#include <utility>

namespace headgate::nginx {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;

// Zeroed memory that children of this process share with it.
void* share(std::size_t bytes) {
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) throw std::bad_alloc();
  return at;
}

std::shared_ptr<ModuleCounts> share_module_counts() {
  void* at = share(sizeof(ModuleCounts));
  return {new (at) ModuleCounts, [](ModuleCounts* counts) { munmap(counts, sizeof *counts); }};
}

void add(PolicyTotals& sum, const gate::PolicyCounts& counts) noexcept {
  sum.admitted += counts.admitted.load(relaxed);
  sum.denied += counts.denied.load(relaxed);
  sum.shadow_denied += counts.shadow_denied.load(relaxed);
  sum.refunded += counts.refunded.load(relaxed);
  sum.cost_defaulted += counts.cost_defaulted.load(relaxed);
}

void add(gate::PolicyCounts& sum, const PolicyTotals& counts) noexcept {
  sum.admitted.fetch_add(counts.admitted, relaxed);
  sum.denied.fetch_add(counts.denied, relaxed);
  sum.shadow_denied.fetch_add(counts.shadow_denied, relaxed);
  sum.refunded.fetch_add(counts.refunded, relaxed);
  sum.cost_defaulted.fetch_add(counts.cost_defaulted, relaxed);
}

}  // namespace

struct Counters::Generation {
  explicit Generation(std::vector<std::string> policy_names) : names(std::move(policy_names)) {
    if (names.empty()) return;
    auto* first = static_cast<gate::PolicyCounts*>(share(names.size() * sizeof *counts.data()));
    std::uninitialized_value_construct_n(first, names.size());
    counts = {first, names.size()};
  }
  ~Generation() {
    if (!counts.empty()) munmap(counts.data(), counts.size_bytes());
  }
  Generation(const Generation&) = delete;
  Generation& operator=(const Generation&) = delete;

  std::vector<std::string> names;
  std::span<gate::PolicyCounts> counts;
};

std::shared_ptr<Counters> Counters::open(std::vector<std::string> names,
                                         const std::shared_ptr<Counters>& previous) {
  if (previous != nullptr && previous->generations_.front()->names == names) return previous;
  auto fresh = std::make_shared<Counters>();
  fresh->generations_.push_back(std::make_shared<Generation>(std::move(names)));
  if (previous == nullptr) {
    fresh->module_ = share_module_counts();
    return fresh;
  }
  fresh->module_ = previous->module_;
  for (const std::shared_ptr<Generation>& old : previous->generations_) {
    if (fresh->generations_.size() < generations_max) {
      fresh->generations_.push_back(old);
      continue;
    }
    Generation& newest = *fresh->generations_.front();
    for (std::size_t i = 0; i < newest.names.size(); ++i) {
      PolicyTotals folded;
      for (std::size_t j = 0; j < old->names.size(); ++j) {
        if (old->names[j] == newest.names[i]) add(folded, old->counts[j]);
      }
      add(newest.counts[i], folded);
    }
  }
  return fresh;
}

std::span<gate::PolicyCounts> Counters::policies() const noexcept {
  return generations_.front()->counts;
}

PolicyTotals Counters::totals(std::string_view name) const noexcept {
  PolicyTotals sum;
  for (const std::shared_ptr<Generation>& generation : generations_) {
    for (std::size_t i = 0; i < generation->names.size(); ++i) {
      if (generation->names[i] == name) add(sum, generation->counts[i]);
    }
  }
  return sum;
}

}  // namespace headgate::nginx
