// Statistics of one thread's recent decisions: their rates, the busiest and most denied partitions,
// and each partition's last denial.
//
// Recording a decision costs a few nanoseconds (`./dev bench` measures the doors with it). Rates
// and denials are exact. The busiest partitions are counted exactly at a moderate load, and from a
// random sample at a high one.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "headgate/base/instant.h"
#include "headgate/base/siphash.h"
#include "headgate/gate/decision_context.h"
#include "headgate/view/labels.h"
#include "headgate/view/last_denials.h"
#include "headgate/view/recent.h"
#include "headgate/view/single_writer.h"
#include "headgate/view/top_sketch.h"

namespace headgate::view {

// One thread writes, any thread may read. Has no pointers, so that it can lie in memory that
// processes share: about 250 KiB. All instants are of one clock, which need not be the store's.
class RecentStats {
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

  RecentStats();

  // Whether a decision counts as a request: a policy decided, and it was no look and no refund.
  [[nodiscard]] static bool is_request(const gate::DecisionContext& context) noexcept {
    return context.decided() > 0 && context.op() == limit::Op::spend;
  }

  // Records the decision in `context`, if it is that of a request.
  void decided(const Labels& labels, const gate::DecisionContext& context, Instant now) noexcept {
    if (!is_request(context)) return;
    begin(now);
    const gate::Verdict& verdict = context.verdict;
    if (verdict.in_outage) increase(outage_, 1);
    if (verdict.outcome != gate::Outcome::admitted) note_denials(labels, context, now);
    if (--until_look_ == 0) look(labels, context);
  }

  // Records a decision whose limit came with the request, so that no policy of the file made it.
  // `name` stands for the policy: 1..64 bytes, the same for all calls of one command.
  void decided_alone(const Labels& labels, std::string_view name, std::string_view key,
                     std::uint64_t cost, bool admitted, Instant now) noexcept;

  // To be called by the thread of another process that becomes the writer, because the former one
  // has ended, perhaps in the middle of a call.
  void adopt() noexcept;

  // Any thread: the rates at `now`. The lists are empty if they were made in another form than that
  // of `in_force`. Throws std::bad_alloc.
  [[nodiscard]] Recent recent(Instant now, const Labels& in_force) const;
  [[nodiscard]] const LastDenials& last_denials() const noexcept { return last_denials_; }

 private:
  using Count = std::atomic<std::uint64_t>;

  // What a list stores of one request at one policy.
  struct Listed {
    std::string_view policy;
    std::string_view key;        // what is hashed
    std::string_view partition;  // what is shown, if it may be
  };

  void begin(Instant now) noexcept {
    const auto moment = static_cast<std::uint64_t>(now.ns);
    if (moment >= next_tick_) tick(moment);
    increase(requests_, 1);
  }
  void tick(std::uint64_t now) noexcept;
  void halve() noexcept;
  void note_denials(const Labels& labels, const gate::DecisionContext& context,
                    Instant now) noexcept;
  void look(const Labels& labels, const gate::DecisionContext& context) noexcept;
  [[nodiscard]] std::uint64_t next_look() noexcept;
  [[nodiscard]] Recent read(Instant now, const Labels& in_force) const;
  void list(TopSketch& sketch, const Labels& labels, const Listed& entry, std::uint64_t weight,
            std::uint64_t also) noexcept;

  // Halved after each half_life:
  Count halvings_{0};   // twice the number of halvings; odd during a halving
  Count halved_at_{0};  // Instant [ns]; 0: no decision yet
  Count weight_{0};     // the time before halved_at_ [ns], halved like the counts
  Count form_{0};       // Labels::form() of the keys that are listed
  Count requests_{0};
  Count denied_{0};
  Count shadow_denied_{0};
  Count outage_{0};
  TopSketch busiest_;
  TopSketch most_denied_;
  LastDenials last_denials_;

  // Used by the writer only.
  HashSecret secret_;
  std::uint64_t next_tick_ = 0;
  std::uint64_t requests_at_tick_ = 0;
  std::uint64_t stride_now_ = 1;
  std::uint64_t until_look_ = 1;
  std::uint64_t random_;  // not 0
};

}  // namespace headgate::view
