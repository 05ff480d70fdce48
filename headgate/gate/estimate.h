// What the costs of a policy usually are: a quantile that is learnt from one cost after the other.
#pragma once

#include <cstdint>

namespace headgate::gate {

// A value of one word, so that processes can share it without a lock.
//
// The first 32 costs are too few to say what is usual: until then the estimate is the largest of
// them, which reserves too much rather than too little. From then on each cost above the estimate
// raises it by P/8 percent, and each one below lowers it by (100 - P)/8 percent, but not beyond the
// cost itself (stochastic approximation, as in "frugal" quantiles). On average it stands still
// where P percent of the costs are not above it, and it follows them when they change: at P = 95,
// to double takes 7 costs, to fall by half 110.
class Estimate {
 public:
  Estimate() = default;
  explicit Estimate(std::uint64_t state) noexcept : state_(state) {}

  [[nodiscard]] std::uint64_t state() const noexcept { return state_; }

  // Whether it has seen a cost.
  [[nodiscard]] bool is_known() const noexcept { return costs() > 0; }
  // At least 1 unit.
  [[nodiscard]] std::uint64_t units() const noexcept;

  // The estimate after one more cost. `percent` P is 1..99.
  [[nodiscard]] Estimate after(std::uint64_t cost, unsigned percent) const noexcept;

 private:
  // The lower bits count costs up to the 32nd. The others are the estimate in 1/64 units: steps are
  // parts of small units, and no cost is too large.
  static constexpr unsigned count_bits = 6;
  static constexpr unsigned part_bits = 6;
  static constexpr std::uint64_t first = 32;

  [[nodiscard]] std::uint64_t costs() const noexcept { return state_ & ((1 << count_bits) - 1); }

  std::uint64_t state_ = 0;
};

}  // namespace headgate::gate
