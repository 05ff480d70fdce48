// How many requests may be under way at once.
#pragma once

#include <algorithm>
#include <cstdint>

#include "headgate/client/request.h"

namespace headgate::client {

// A limit on concurrent requests: r more of them would fit when the server decided the one that an
// answer is to, which held a slot itself. So do those that were under way then; nobody knows which.
class Slots {
 public:
  // `traffic` includes the answer.
  void hear(std::uint64_t r, bool denied, const Request& request, const Traffic& traffic) noexcept {
    const std::uint64_t own = denied ? 0 : 1;
    const std::uint64_t others = traffic.begun - request.answered_before - 1;
    const std::uint64_t at_least = r + own;
    slots_ = std::clamp(known_ ? slots_ : at_least, at_least, at_least + others);
    slots_ = std::max<std::uint64_t>(slots_, 1);
    known_ = true;
  }
  void forget() noexcept { known_ = false; }

  [[nodiscard]] bool known() const noexcept { return known_; }
  [[nodiscard]] bool full(const Traffic& traffic) const noexcept {
    return known_ && traffic.begun - traffic.ended >= slots_;
  }

 private:
  bool known_ = false;
  std::uint64_t slots_ = 0;
};

}  // namespace headgate::client
