// The rate that a server permits but does not send in fields, learned from its denials.
#pragma once

#include <algorithm>
#include <cstdint>

#include "headgate/client/pace.h"

namespace headgate::client {

// The learned rate is the number of requests admitted between two denials, divided by the time from
// one to the other, the wait that the server required included: at that rate the server should not
// deny. The rate then rises slowly until the next denial, since the server's limit may have risen.
class Learned {
 public:
  explicit Learned(Instant start) noexcept : since_(start), pace_(start) {}

  void admitted() noexcept {
    ++admitted_;
    pace_.set_interval(pace_.interval() - pace_.interval() / rise);
  }
  // The first of the denials of one round; the next request begins at `back`. The learned interval
  // is at most the time from `now` to `back`.
  void denied(Instant now, Instant back) noexcept {
    if (admitted_ > 0) {
      const Nanos each = ceil_div<Nanos>(back.ns - since_.ns, static_cast<Nanos>(admitted_));
      pace_.set_interval(std::min(each + each / margin, back.ns - now.ns));
    }
    since_ = back;
    admitted_ = 0;
  }
  void begin(Instant now) noexcept { pace_.begin(now); }
  [[nodiscard]] const Pace& pace() const noexcept { return pace_; }

 private:
  // Each admitted request makes the interval shorter by a 1024th: the rate doubles after some 710
  // requests, so denials stay rare.
  static constexpr Nanos rise = 1024;
  // The learned interval is longer by a 50th (2 %) than the measured one, which is an average.
  static constexpr Nanos margin = 50;

  Instant since_;
  std::uint64_t admitted_ = 0;
  Pace pace_;
};

}  // namespace headgate::client
