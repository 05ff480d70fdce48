// Chooses the decisions of which the decision log has a line.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

#include "headgate/base/random.h"
#include "headgate/base/siphash.h"

namespace headgate::gate {

// Chooses each decision with the same probability, independently of all others: by a keyed hash of
// their number. So neither a pattern of requests nor of times is chosen more often than others, and
// nobody can foresee what is chosen. Not thread-safe.
class DecisionSampler {
 public:
  DecisionSampler() noexcept : DecisionSampler(random_secret()) {}
  explicit DecisionSampler(const HashSecret& secret) noexcept : secret_(secret) {}

  // `percent`: 0..100.
  [[nodiscard]] bool choose(unsigned percent) noexcept {
    if (percent >= 100) return true;
    const auto number = std::bit_cast<Bytes>(next_++);
    return siphash64<1, 3>(secret_, {number.bytes, sizeof number.bytes}) / hashes_per_percent <
           percent;
  }

 private:
  struct Bytes {
    char bytes[sizeof(std::uint64_t)];
  };
  static constexpr std::uint64_t hashes_per_percent = ~std::uint64_t{0} / 100 + 1;

  HashSecret secret_;
  std::uint64_t next_ = 0;
};

}  // namespace headgate::gate
