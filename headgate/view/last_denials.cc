#include "headgate/view/last_denials.h"

#include <algorithm>

namespace headgate::view {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto acquire = std::memory_order_acquire;
constexpr auto release = std::memory_order_release;

constexpr std::uint64_t no_wait = ~std::uint64_t{0} / 2;

}  // namespace

void LastDenials::note(Hash128 partition, const LastDenial& denial) noexcept {
  Set& set = sets_[set_of(partition)];
  Entry* to = set.data();
  for (Entry& entry : set) {
    if (entry.lo.load(relaxed) == partition.lo && entry.hi.load(relaxed) == partition.hi) {
      to = &entry;
      break;
    }
    if (entry.at.load(relaxed) < to->at.load(relaxed)) to = &entry;
  }
  const std::uint64_t version = to->version.load(relaxed);
  to->version.store(version + 1, relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);  // for repair()
  to->lo.store(partition.lo, release);
  to->hi.store(partition.hi, release);
  to->at.store(static_cast<std::uint64_t>(denial.at.ns), release);
  to->cost.store(denial.cost, release);
  to->left.store(denial.left, release);
  to->quota.store(denial.quota, release);
  to->wait.store(2 * std::min(denial.wait.value_or(no_wait), no_wait) + (denial.enforced ? 1 : 0),
                 release);
  to->version.store(version + 2, release);
}

void LastDenials::repair() noexcept {
  for (Set& set : sets_) {
    for (Entry& entry : set) {
      if (entry.version.load(relaxed) % 2 == 0) continue;
      entry.lo.store(0, release);
      entry.hi.store(0, release);
      entry.at.store(0, release);
      entry.version.store(entry.version.load(relaxed) + 1, release);
    }
  }
}

std::optional<LastDenial> LastDenials::find(Hash128 partition) const noexcept {
  constexpr int attempts_max = 8;  // a change takes nanoseconds
  for (const Entry& entry : sets_[set_of(partition)]) {
    for (int attempt = 0; attempt < attempts_max; ++attempt) {
      const std::uint64_t version = entry.version.load(acquire);
      const Hash128 found{entry.lo.load(acquire), entry.hi.load(acquire)};
      LastDenial denial;
      denial.at = {static_cast<Nanos>(entry.at.load(acquire))};
      denial.cost = entry.cost.load(acquire);
      denial.left = entry.left.load(acquire);
      denial.quota = entry.quota.load(acquire);
      const std::uint64_t wait = entry.wait.load(acquire);
      if (wait / 2 != no_wait) denial.wait = wait / 2;
      denial.enforced = wait % 2 == 1;
      if (version % 2 != 0 || entry.version.load(relaxed) != version) continue;
      if (found == partition && denial.at.ns != 0) return denial;
      break;
    }
  }
  return std::nullopt;
}

}  // namespace headgate::view
