#include "headgate/nginx/worker_stats.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <span>
#include <utility>

#include "headgate/store/region.h"

namespace headgate::nginx {
namespace {

static_assert(std::atomic<pid_t>::is_always_lock_free);

store::Region share(std::size_t bytes) {
  auto region = store::Region::anonymous(bytes, store::Sharing::processes);
  if (!region) throw std::bad_alloc();
  return std::move(*region);
}

// Whether there is no owner yet, or it has given its place up, or has ended. A process of its id
// may be that of another program by now; then nobody has the place until that ends.
bool is_unused(pid_t owner) noexcept {
  return owner <= 0 || (kill(owner, 0) != 0 && errno == ESRCH);
}

}  // namespace

struct WorkerStats::Block {
  explicit Block(std::size_t count) : region(share(count * sizeof(Place))) {
    auto* first = reinterpret_cast<Place*>(region.bytes().data());
    std::uninitialized_value_construct_n(first, count);
    places = {first, count};
  }

  store::Region region;
  std::span<Place> places;
};

template <class F>
void WorkerStats::each(const F& see) const {
  for (const auto& block : blocks_) {
    for (Place& place : block->places) see(place);
  }
}

std::shared_ptr<WorkerStats> WorkerStats::open(std::size_t workers,
                                               const std::shared_ptr<WorkerStats>& previous) {
  auto fresh = std::make_shared<WorkerStats>();
  if (previous != nullptr) fresh->blocks_ = previous->blocks_;
  std::size_t unused = 0;
  fresh->each([&](const Place& place) {
    if (is_unused(place.owner.load(std::memory_order_relaxed))) ++unused;
  });
  const std::size_t wanted = 2 * workers;
  if (unused < wanted) fresh->blocks_.push_back(std::make_shared<Block>(wanted - unused));
  return fresh;
}

WorkerStats::Place* WorkerStats::claim() const noexcept {
  const pid_t self = getpid();
  Place* claimed = nullptr;
  each([&](Place& place) {
    if (claimed != nullptr) return;
    pid_t owner = place.owner.load(std::memory_order_relaxed);
    // A process with the id of this one has ended.
    if (owner != self && !is_unused(owner)) return;
    if (place.owner.compare_exchange_strong(owner, self, std::memory_order_acq_rel)) {
      claimed = &place;
    }
  });
  if (claimed != nullptr) claimed->stats.adopt();
  return claimed;
}

std::optional<view::LastDenial> WorkerStats::last_denial(Hash128 partition) const noexcept {
  std::optional<view::LastDenial> last;
  each([&](const Place& place) {
    last = view::later(last, place.stats.last_denials().find(partition));
  });
  return last;
}

view::Recent WorkerStats::recent(Instant now, const view::Labels& in_force) const {
  view::Recent sum;
  each([&](const Place& place) { sum.add(place.stats.recent(now, in_force)); });
  return sum;
}

}  // namespace headgate::nginx
