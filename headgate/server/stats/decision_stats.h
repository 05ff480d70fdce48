// Statistics of one worker's decisions: their number, their latency, and the busiest and most
// denied partitions.
//
// Recording a decision costs a few nanoseconds (`./dev bench` measures the doors with it). Totals,
// latencies and denials are exact. The busiest partitions are counted exactly at a moderate load,
// and from a random sample at a high one.
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

// One thread writes, any thread may read.
class DecisionStats {
 public:
  // After this time the past counts half as much, after twice this time a quarter, and so on.
  // 30 s: long enough that rates do not flicker, short enough that a list shows a change of load
  // within a minute.
  static constexpr std::uint64_t half_life = 30'000'000'000;  // [ns]
  // Up to this rate [decisions/s] each decision is counted in the busiest list; above it one in
  // `stride` is, on average. If counting one took 100 ns (a hash and a cache miss), 50,000/s would
  // take 0.5% of a processor.
  static constexpr std::uint64_t exact_rate = 50'000;
  // At 50,000/s a partition with 1% of the load is still sampled about 31 times per second.
  static constexpr std::uint64_t stride = 16;

  DecisionStats();

  // Records the decision in `context`. `now`: by the clock of recent(), which need not be that of
  // the store. `took` is the time from its request's last byte to its reply [ns].
  void decided(DoorKind door, const PolicySnapshot& snapshot, const gate::DecisionContext& context,
               Instant now, Nanos took) noexcept {
    at(door).latency.add(static_cast<std::uint64_t>(took));
    if (context.decided() == 0 || context.op() != limit::Op::spend) return;
    begin(now);
    const gate::Verdict& verdict = context.verdict;
    if (verdict.in_outage) increase(outage_, 1);
    if (verdict.outcome != gate::Outcome::admitted) note_denials(snapshot, context);
    if (--until_look_ == 0) look(snapshot, context);
  }

  // Records a decision whose limit came with the request, so that no policy of the file made it.
  // `name` stands for the policy: 1..64 bytes, the same for all calls of one command.
  void decided_alone(DoorKind door, const PolicySnapshot& snapshot, std::string_view name,
                     std::string_view key, std::uint64_t cost, bool admitted, Instant now,
                     Nanos took) noexcept;

  void connected(DoorKind door) noexcept { increase(at(door).opened, 1); }
  void disconnected(DoorKind door) noexcept { increase(at(door).closed, 1); }
  // Records a connection that was closed at once because there were too many.
  void refused(DoorKind door) noexcept { increase(at(door).refused, 1); }
  // Records a connection without the token that was closed because newer ones came.
  void crowded_out(DoorKind door) noexcept { increase(at(door).crowded_out, 1); }
  void wrong_token(DoorKind door) noexcept { increase(at(door).wrong_tokens, 1); }

  // Any thread:

  // Totals of one kind of door since the start; callers add them up over workers.
  struct DoorTotals {
    LatencyHistogram::Totals latency;
    std::uint64_t opened = 0;  // connections
    std::uint64_t closed = 0;
    std::uint64_t refused = 0;
    std::uint64_t crowded_out = 0;
    std::uint64_t wrong_tokens = 0;
  };
  void add_to(DoorTotals& totals, DoorKind door) const noexcept;

  // Adds the decisions of decided_alone() since the start, as a policy's are counted.
  void add_to(gate::PolicyTotals& totals) const noexcept { totals += alone_; }

  // One policy's partition.
  struct Partition {
    std::string policy;
    std::string key;       // for people: printable ASCII
    double at_least = 0;   // requests, or denials [1/s]
    double at_most = 0;    // the same
    double also = 0;       // busiest: admitted units; most_denied: denials in shadow mode [1/s]
    std::string client{};  // stands for a key that is not shown, the same under all policies
  };
  // Recent rates: older decisions count less, see half_life.
  struct Recent {
    double requests = 0;  // [1/s]
    double denied = 0;
    double shadow_denied = 0;
    double outage = 0;                   // decided without the store that machines share
    std::vector<Partition> busiest;      // in no order
    std::vector<Partition> most_denied;  // in no order
  };
  // The rates at `now`. The lists are empty if they were made under another policy file than
  // `in_force`, because `in_force` may forbid to show keys. Throws std::bad_alloc.
  [[nodiscard]] Recent recent(Instant now, const PolicySnapshot& in_force) const;

 private:
  using Count = std::atomic<std::uint64_t>;

  struct Door {
    LatencyHistogram latency;
    Count opened{0};
    Count closed{0};
    Count refused{0};
    Count crowded_out{0};
    Count wrong_tokens{0};
  };
  // What a list stores of one request at one policy.
  struct Listed {
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
  void list(TopSketch& sketch, const PolicySnapshot& snapshot, const Listed& entry,
            std::uint64_t weight, std::uint64_t also) noexcept;

  std::array<Door, door_names.size()> doors_;
  gate::PolicyCounts alone_;

  // Halved after each half_life:
  Count halvings_{0};   // twice the number of halvings; odd during a halving
  Count halved_at_{0};  // Instant [ns]; 0: no decision yet
  Count weight_{0};     // the time before halved_at_ [ns], halved like the counts
  Count snapshot_{0};   // reading() of the PolicySnapshot whose keys are listed
  Count requests_{0};
  Count denied_{0};
  Count shadow_denied_{0};
  Count outage_{0};
  TopSketch busiest_;
  TopSketch most_denied_;

  // Used by the writer only.
  HashSecret secret_;
  std::uint64_t next_tick_ = 0;
  std::uint64_t requests_at_tick_ = 0;
  std::uint64_t stride_now_ = 1;
  std::uint64_t until_look_ = 1;
  std::uint64_t random_;  // not 0
};

}  // namespace headgate::server
