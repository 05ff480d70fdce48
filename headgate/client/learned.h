// The rate that a server permits but does not tell: learned from its denials.
#pragma once

#include <algorithm>
#include <cstdint>

#include "headgate/client/pace.h"

namespace headgate::client {

// Between two denials, so many requests were admitted in so much time, including the wait that the
// server asked for: at that rate it should not deny. From there the rate rises slowly, since it
// may have become greater, until the next denial.
class Learned {
 public:
  explicit Learned(Instant start) noexcept : since_(start), pace_(start) {}

  void admitted() noexcept {
    ++admitted_;
    pace_.set_interval(pace_.interval() - pace_.interval() / rise);
  }
  // The first denial of some: the next request goes at `back`. No single one needs a longer wait
  // than that.
  void denied(Instant now, Instant back) noexcept {
    if (admitted_ > 0) {
      const Nanos each = ceil_div<Nanos>(back.ns - since_.ns, static_cast<Nanos>(admitted_));
      pace_.set_interval(std::min(each + each / margin, back.ns - now.ns));
    }
    since_ = back;
    admitted_ = 0;
  }
  void begin(Instant now) noexcept { pace_.begin(now); }
  void forget() noexcept { pace_.set_interval(0); }
  [[nodiscard]] const Pace& pace() const noexcept { return pace_; }

 private:
  static constexpr Nanos rise = 1024;  // faster by a 1024th with each admitted request
  static constexpr Nanos margin = 50;  // slower by a 50th than what was admitted

  Instant since_;
  std::uint64_t admitted_ = 0;
  Pace pace_;
};

}  // namespace headgate::client
