// What one worker has seen of its decisions: how many, how long they took, of whom.
//
// Made to cost a decision a few nanoseconds. Totals, latencies and denials are exact. Who is
// busiest is counted exactly at a moderate load, and from a random sample at a high one.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/base/instant.h"
#include "headgate/base/siphash.h"
#include "headgate/gate/counts.h"
#include "headgate/gate/decision_context.h"
#include "headgate/server/policy_snapshot.h"
#include "headgate/server/stats/door_kind.h"
#include "headgate/server/stats/latency_histogram.h"
#include "headgate/server/stats/single_writer.h"
#include "headgate/server/stats/top_sketch.h"

namespace headgate::server {

// Written by one thread, read by any.
class DecisionStats {
 public:
  // The past counts half as much after this time, a quarter after twice as long, ...
  static constexpr std::uint64_t half_life = 30'000'000'000;  // [ns]
  // More decisions than that [1/s], and one of `stride` is looked at for the busiest list.
  static constexpr std::uint64_t exact_rate = 50'000;
  static constexpr std::uint64_t stride = 16;

  DecisionStats();

  // A decision of one context was told; `took` is from its request's last byte to its reply [ns].
  void decided(DoorKind door, const PolicySnapshot& snapshot, const gate::DecisionContext& context,
               Nanos took) noexcept {
    at(door).latency.add(static_cast<std::uint64_t>(took));
    if (context.decided() == 0 || context.op() != limit::Op::spend) return;
    begin(context.now);
    const gate::Verdict& verdict = context.verdict;
    if (verdict.outcome != gate::Outcome::admitted) note_denials(snapshot, context);
    if (--until_look_ == 0) look(snapshot, context);
  }

  // The same of a decision that no policy of the file made, because its limit came with the
  // request. `name` stands for the policy: 1..64 bytes, the same for all such of one command.
  void decided_alone(DoorKind door, const PolicySnapshot& snapshot, std::string_view name,
                     std::string_view key, std::uint64_t cost, bool admitted, Instant now,
                     Nanos took) noexcept;

  void connected(DoorKind door) noexcept { increase(at(door).opened, 1); }
  void disconnected(DoorKind door) noexcept { increase(at(door).closed, 1); }
  // A connection that was closed at once, because there were too many.
  void refused(DoorKind door) noexcept { increase(at(door).refused, 1); }

  // Any thread:

  // What one door has seen since the start, to be added up over workers.
  struct DoorTotals {
    LatencyHistogram::Totals latency;
    std::uint64_t opened = 0;  // connections
    std::uint64_t closed = 0;
    std::uint64_t refused = 0;
  };
  void add_to(DoorTotals& totals, DoorKind door) const noexcept;

  // Adds the decisions of decided_alone() since the start, as a policy's are counted.
  void add_to(gate::PolicyTotals& totals) const noexcept { totals += alone_; }

  // One policy's partition.
  struct Partition {
    std::string policy;
    std::string key;      // for people: printable ASCII
    double at_least = 0;  // requests, or denials [1/s]
    double at_most = 0;   // the same
    double also = 0;      // of the busiest, units admitted; of denials, those of shadow mode [1/s]
  };
  // Of the present: older things count less and less.
  struct Recent {
    double requests = 0;  // [1/s]
    double denied = 0;
    double shadow_denied = 0;
    std::vector<Partition> busiest;      // in no order
    std::vector<Partition> most_denied;  // in no order
  };
  // As of `now`. Lists nothing that was seen under another policy file than `in_force`, which may
  // no longer want keys to be shown. Throws std::bad_alloc.
  [[nodiscard]] Recent recent(Instant now, const PolicySnapshot& in_force) const;

 private:
  using Count = std::atomic<std::uint64_t>;

  struct Door {
    LatencyHistogram latency;
    Count opened{0};
    Count closed{0};
    Count refused{0};
  };
  // What is listed of a request at one policy.
  struct Asked {
    std::string_view policy;
    std::string_view key;        // what is hashed
    std::string_view partition;  // what is shown, if it may be
  };

  [[nodiscard]] Door& at(DoorKind door) noexcept { return doors_[static_cast<std::size_t>(door)]; }
  void begin(Instant now) noexcept {
    const auto moment = static_cast<std::uint64_t>(now.ns);
    if (moment >= next_tick_) tick(moment);
    increase(requests_, 1);
  }
  void tick(std::uint64_t now) noexcept;
  void halve() noexcept;
  void note_denials(const PolicySnapshot& snapshot, const gate::DecisionContext& context) noexcept;
  void look(const PolicySnapshot& snapshot, const gate::DecisionContext& context) noexcept;
  [[nodiscard]] std::uint64_t next_look() noexcept;
  [[nodiscard]] Recent read(Instant now, const PolicySnapshot& in_force) const;
  void list(TopSketch& sketch, const PolicySnapshot& snapshot, const Asked& asked,
            std::uint64_t weight, std::uint64_t also) noexcept;

  std::array<Door, door_names.size()> doors_;
  gate::PolicyCounts alone_;

  // Halved each half_life:
  Count halvings_{0};   // twice their number; odd while one is done
  Count halved_at_{0};  // Instant [ns]; 0: nothing was seen yet
  Count weight_{0};     // of the time before halved_at_ [ns], halved as the counts were
  Count snapshot_{0};   // number of the one whose keys are listed
  Count requests_{0};
  Count denied_{0};
  Count shadow_denied_{0};
  TopSketch busiest_;
  TopSketch most_denied_;

  // The writer's own.
  HashSecret secret_;
  std::uint64_t next_tick_ = 0;
  std::uint64_t requests_at_tick_ = 0;
  std::uint64_t stride_now_ = 1;
  std::uint64_t until_look_ = 1;
  std::uint64_t random_;  // not 0
};

}  // namespace headgate::server
