// How many requests may be under way at once.
#pragma once

#include <algorithm>
#include <cstdint>

#include "headgate/client/request.h"

namespace headgate::client {

// A limit on concurrent requests. An answer's r is how many more requests could have run when the
// server decided the answered request, which held a slot itself if it was admitted. Any of the
// client's other requests may have held a slot at that moment too; which of them did is unknown, so
// the limit is known only as a range, and the known value is moved into it.
class Slots {
 public:
  // `totals` includes the answer.
  void update(std::uint64_t r, bool denied, const Request& request,
              const RequestTotals& totals) noexcept {
    const std::uint64_t own = denied ? 0 : 1;
    const std::uint64_t others = totals.begun - request.answered_before - 1;
    const std::uint64_t at_least = r + own;
    slots_ = std::clamp(known_ ? slots_ : at_least, at_least, at_least + others);
    slots_ = std::max<std::uint64_t>(slots_, 1);
    known_ = true;
  }
  void forget() noexcept { known_ = false; }

  [[nodiscard]] bool known() const noexcept { return known_; }
  [[nodiscard]] bool full(const RequestTotals& totals) const noexcept {
    return known_ && totals.begun - totals.ended >= slots_;
  }

 private:
  bool known_ = false;
  std::uint64_t slots_ = 0;
};

}  // namespace headgate::client
