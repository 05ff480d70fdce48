// Counts the results of a replay.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "headgate/base/instant.h"
#include "headgate/base/text_map.h"
#include "headgate/policy/policy_set.h"
#include "headgate/sim/busiest_window.h"

namespace headgate::sim {

// The most partitions in `top_denied`: what fits a screen next to the totals.
inline constexpr std::size_t top_denied_max = 10;

// Which busiest windows are measured: none, of admitted units, or also of all requested units.
enum class Measure : std::uint8_t { nothing, admitted, all };

// What is counted per partition, which takes memory for each partition.
struct Watch {
  Measure measure = Measure::admitted;
  std::optional<std::size_t> policy{};  // only this policy; absent: all
};

// One partition of one policy.
struct PartitionTotals {
  std::string_view key;  // readable; valid as long as the summary
  std::uint64_t admitted = 0;
  std::uint64_t denied = 0;
  std::uint64_t delayed = 0;  // of those admitted: had to wait
  std::uint64_t peak = 0;     // units admitted in the busiest window, if measured
  std::uint64_t offered = 0;  // units requested in the busiest window, if measured
};

struct PolicyTotals {
  const policy::Policy* policy = nullptr;
  std::uint64_t partitions = 0;
  std::uint64_t partitions_denied = 0;  // that were denied at least once
  std::uint64_t admitted = 0;
  std::uint64_t denied = 0;
  std::uint64_t delayed = 0;                // of those admitted: had to wait
  bool denied_by_others = false;            // any request that it would have admitted
  std::uint64_t peak = 0;                   // if measured
  std::vector<PartitionTotals> top_denied;  // the most denied first
};

// Counts requests and the decisions of each policy. With Order::any, memory grows with the
// admissions, which are kept to find the busiest window. With Order::time, it grows with the
// partitions and the admissions of one window of each. Not thread-safe.
class Summary {
 public:
  // Lists all `policies` in their order, also those without requests. They outlive the summary.
  explicit Summary(std::span<const policy::Policy> policies, Order order = Order::any,
                   Watch watch = {});

  void skip(std::uint64_t lines = 1) noexcept { skipped_ += lines; }
  // Counts an applied line, also if it is a peek or a refund.
  void saw(Instant at) noexcept;
  void count_request(bool admitted) noexcept { ++(admitted ? admitted_ : denied_); }
  // One of the denied requests that no policy decided.
  void note_refusal(policy::Refusal why) noexcept { ++refused_[static_cast<std::size_t>(why)]; }
  // One request's decision by a policy, if that is watched: `units` were taken, or it was denied
  // and took none of them; `remaining` units are left, if the policy limits this partition. A
  // request that was admitted passed `wait` after it came.
  void count(const policy::Policy& policy, const policy::Grant& grant, std::string_view partition,
             std::uint64_t units, Instant at, bool taken, std::optional<std::uint64_t> remaining,
             Nanos wait);
  // One request that this policy would have admitted, and another one denied.
  void note_denied_by_others(const policy::Policy& policy) noexcept {
    denied_by_others_[policy.index] = true;
  }

  [[nodiscard]] std::uint64_t skipped() const noexcept { return skipped_; }
  [[nodiscard]] std::uint64_t applied() const noexcept { return applied_; }
  [[nodiscard]] std::uint64_t admitted() const noexcept { return admitted_; }
  [[nodiscard]] std::uint64_t denied() const noexcept { return denied_; }
  [[nodiscard]] std::uint64_t refused(policy::Refusal why) const noexcept {
    return refused_[static_cast<std::size_t>(why)];
  }
  [[nodiscard]] std::uint64_t requests() const noexcept { return admitted_ + denied_; }
  [[nodiscard]] std::optional<Instant> first() const noexcept { return first_; }
  [[nodiscard]] std::optional<Instant> last() const noexcept { return last_; }
  [[nodiscard]] double span_seconds() const noexcept;

  [[nodiscard]] std::span<const policy::Policy> policies() const noexcept { return policies_; }
  [[nodiscard]] PolicyTotals totals(std::size_t policy) const;
  void each_partition(std::size_t policy,
                      const std::function<void(const PartitionTotals&)>& act) const;

  // One line of JSON, with its newline.
  [[nodiscard]] std::string json() const;
  // A few lines of text for people.
  [[nodiscard]] std::string text() const;

 private:
  struct Partition {
    std::uint64_t admitted = 0;
    std::uint64_t denied = 0;
    std::uint64_t delayed = 0;
    Nanos window = 0;
    std::uint64_t in_flight =
        0;  // most at the same time; for policies that count requests in flight
    std::unique_ptr<BusiestWindow> taken;  // null until something is measured
    std::unique_ptr<BusiestWindow> offered;
  };
  using Partitions = TextMap<Partition>;

  [[nodiscard]] PartitionTotals totals(std::string_view key, const Partition& partition) const;

  std::span<const policy::Policy> policies_;
  Order order_;
  Watch watch_;
  std::vector<Partitions> partitions_;  // by the policy's index, as the next
  std::vector<bool> denied_by_others_;
  std::optional<Instant> first_;
  std::optional<Instant> last_;
  std::uint64_t skipped_ = 0;
  std::uint64_t applied_ = 0;
  std::uint64_t admitted_ = 0;
  std::uint64_t denied_ = 0;
  std::array<std::uint64_t, 3> refused_{};  // by the policy::Refusal
};

}  // namespace headgate::sim
