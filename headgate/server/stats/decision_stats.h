// Statistics of one worker: its recent decisions, and per kind of door latencies and connections.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "headgate/base/instant.h"
#include "headgate/gate/counts.h"
#include "headgate/gate/decision_context.h"
#include "headgate/server/policy_snapshot.h"
#include "headgate/server/stats/door_kind.h"
#include "headgate/server/stats/latency_histogram.h"
#include "headgate/view/recent_stats.h"
#include "headgate/view/single_writer.h"

namespace headgate::server {

// One thread writes, any thread may read. Totals and latencies are exact.
class DecisionStats {
 public:
  // Records the decision in `context`. `now`: by the clock of recent(), which need not be that of
  // the store. `took` is the time from its request's last byte to its reply [ns].
  void decided(DoorKind door, const PolicySnapshot& snapshot, const gate::DecisionContext& context,
               Instant now, Nanos took) noexcept {
    at(door).latency.add(static_cast<std::uint64_t>(took));
    recent_.decided(snapshot.labels(), context, now);
  }

  // Records a decision whose limit came with the request, so that no policy of the file made it.
  // `name` stands for the policy: 1..64 bytes, the same for all calls of one command.
  void decided_alone(DoorKind door, const PolicySnapshot& snapshot, std::string_view name,
                     std::string_view key, std::uint64_t cost, bool admitted, Instant now,
                     Nanos took) noexcept {
    at(door).latency.add(static_cast<std::uint64_t>(took));
    view::increase(admitted ? alone_.admitted : alone_.denied, 1);
    recent_.decided_alone(snapshot.labels(), name, key, cost, admitted, now);
  }

  // Records fields of answers that could not be written.
  void left_out(std::uint64_t fields) noexcept {
    if (fields > 0) view::increase(fields_left_out_, fields);
  }

  void connected(DoorKind door) noexcept { view::increase(at(door).opened, 1); }
  void disconnected(DoorKind door) noexcept { view::increase(at(door).closed, 1); }
  // Records a connection that was closed at once because there were too many.
  void refused(DoorKind door) noexcept { view::increase(at(door).refused, 1); }
  // Records a connection without the token that was closed because newer ones came.
  void crowded_out(DoorKind door) noexcept { view::increase(at(door).crowded_out, 1); }
  // Records a connection that could not be accepted, or was closed at once, because descriptors or
  // memory were short. `error`: of the system.
  void accept_failed(DoorKind door, int error) noexcept {
    last_accept_error_.store(error, std::memory_order_relaxed);
    view::increase(at(door).accept_failures, 1);
  }
  void wrong_token(DoorKind door) noexcept { view::increase(at(door).wrong_tokens, 1); }
  // Records a request that could not be read: malformed, or longer than the door takes.
  void unreadable(DoorKind door) noexcept { view::increase(at(door).unreadable, 1); }

  // Any thread:

  // Totals of one kind of door since the start; callers add them up over workers.
  struct DoorTotals {
    LatencyHistogram::Totals latency;
    std::uint64_t opened = 0;  // connections
    std::uint64_t closed = 0;
    std::uint64_t refused = 0;
    std::uint64_t crowded_out = 0;
    std::uint64_t accept_failures = 0;
    std::uint64_t wrong_tokens = 0;
    std::uint64_t unreadable = 0;
  };
  void add_to(DoorTotals& totals, DoorKind door) const noexcept;

  // Adds the decisions of decided_alone() since the start, as a policy's are counted.
  void add_to(gate::PolicyTotals& totals) const noexcept { totals += alone_; }

  [[nodiscard]] std::uint64_t fields_left_out() const noexcept {
    return fields_left_out_.load(std::memory_order_relaxed);
  }

  // The calls of accept_failed(), and the error of the last one.
  [[nodiscard]] std::uint64_t accept_failures() const noexcept;
  [[nodiscard]] int last_accept_error() const noexcept {
    return last_accept_error_.load(std::memory_order_relaxed);
  }

  // Recent decisions.
  [[nodiscard]] const view::RecentStats& recent() const noexcept { return recent_; }

 private:
  using Count = std::atomic<std::uint64_t>;

  struct Door {
    LatencyHistogram latency;
    Count opened{0};
    Count closed{0};
    Count refused{0};
    Count crowded_out{0};
    Count accept_failures{0};
    Count wrong_tokens{0};
    Count unreadable{0};
  };

  [[nodiscard]] Door& at(DoorKind door) noexcept { return doors_[static_cast<std::size_t>(door)]; }

  std::array<Door, door_names.size()> doors_;
  gate::PolicyCounts alone_;
  Count fields_left_out_{0};
  std::atomic<int> last_accept_error_{0};
  view::RecentStats recent_;
};

}  // namespace headgate::server
