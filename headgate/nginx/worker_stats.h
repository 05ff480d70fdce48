// Statistics of the workers' recent decisions, in memory that all processes of one nginx share.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "headgate/base/instant.h"
#include "headgate/base/siphash.h"
#include "headgate/view/labels.h"
#include "headgate/view/last_denials.h"
#include "headgate/view/recent.h"
#include "headgate/view/recent_stats.h"

namespace headgate::nginx {

// Each worker writes to a place of its own, and any worker reads all of them. Reloads keep the
// places: a new worker takes over one whose worker has ended, with what it has counted.
//
// open() is for the process that forks the workers; everything else is thread-safe.
class WorkerStats {
 public:
  // Has the places of `previous`, which may be null and does not change, and so many more that
  // twice as many as `workers` find one while all of the old ones still run: nginx starts workers
  // again without a new configuration when an upgrade is rolled back. Throws std::bad_alloc.
  [[nodiscard]] static std::shared_ptr<WorkerStats> open(
      std::size_t workers, const std::shared_ptr<WorkerStats>& previous);

  struct alignas(64) Place {
    static constexpr pid_t given_up = -1;
    std::atomic<pid_t> owner{0};  // 0: none yet; given_up: none any more
    view::RecentStats stats;
  };

  // Makes this process the owner of a place. nullptr: all are in use.
  [[nodiscard]] Place* claim() const noexcept;

  // The last denial that is in any place.
  [[nodiscard]] std::optional<view::LastDenial> last_denial(Hash128 partition) const noexcept;

  // The sum of all places, each part of a list for itself. Throws std::bad_alloc.
  [[nodiscard]] view::Recent recent(Instant now, const view::Labels& in_force) const;

 private:
  struct Block;

  template <class F>
  void each(const F& see) const;

  std::vector<std::shared_ptr<Block>> blocks_;
};

}  // namespace headgate::nginx
