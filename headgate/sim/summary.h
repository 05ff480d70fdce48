// What a replay came to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "headgate/base/instant.h"
#include "headgate/policy/policy_set.h"

namespace headgate::sim {

// How many partitions `top_denied` lists at most.
inline constexpr std::size_t top_denied_max = 10;

// Counts requests and what each policy made of them. Memory grows with the admissions, which are
// kept to find the busiest window in any order of time. Not thread-safe.
class Summary {
 public:
  // Lists all `policies` in their order, also those that nobody asks. They outlive the summary.
  explicit Summary(std::span<const policy::Policy> policies);

  void skip() noexcept { ++skipped_; }
  // One line was applied, be it a request or not.
  void saw(Instant at) noexcept;
  void count_request(bool admitted) noexcept { ++(admitted ? admitted_ : denied_); }
  // One request's answer by the policy of `match`: its cost was taken, or it was denied;
  // `remaining` units are left, if its law tells.
  void count(const policy::Match& match, std::string_view partition, Instant at, bool taken,
             std::optional<std::uint64_t> remaining);

  [[nodiscard]] std::uint64_t skipped() const noexcept { return skipped_; }
  [[nodiscard]] std::uint64_t applied() const noexcept { return applied_; }

  // One line of JSON, with its end.
  [[nodiscard]] std::string json() const;
  // A few lines for people.
  [[nodiscard]] std::string text() const;

 private:
  struct Admission {
    Instant at;
    std::uint64_t units;
  };
  struct Partition {
    std::uint64_t admitted = 0;
    std::uint64_t denied = 0;
    Nanos window = 0;
    std::uint64_t in_flight = 0;  // most at the same time, where that is what is counted
    std::vector<Admission> admissions;
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>{}(text);
    }
  };
  using Partitions = std::unordered_map<std::string, Partition, Hash, std::equal_to<>>;
  struct PolicyTotals;

  [[nodiscard]] static std::uint64_t peak_units(const Partition& partition);
  [[nodiscard]] PolicyTotals totals(std::size_t policy) const;
  [[nodiscard]] double span_seconds() const noexcept;

  std::span<const policy::Policy> policies_;
  std::vector<Partitions> partitions_;  // by the policy's index
  std::optional<Instant> first_;
  std::optional<Instant> last_;
  std::uint64_t skipped_ = 0;
  std::uint64_t applied_ = 0;
  std::uint64_t admitted_ = 0;
  std::uint64_t denied_ = 0;
};

}  // namespace headgate::sim
