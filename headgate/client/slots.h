// How many requests may be under way at once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "headgate/base/instant.h"
#include "headgate/client/limit_id.h"
#include "headgate/client/request.h"

namespace headgate::client {

// A limit on concurrent requests. An answer's r is how many more requests could have run when the
// server decided the answered request, which held a slot itself if it was admitted. Any of the
// client's other requests may have held a slot at that moment too; which of them did is unknown, so
// the limit is known only as a range, and the known value is moved into it.
class Slots {
 public:
  // No answer has been received for it yet.
  Slots(LimitId id, Instant now) : id_(std::move(id)), until_(now) {}

  [[nodiscard]] const LimitId& id() const noexcept { return id_; }

  // Applies an answer, which is in force until `until`. `totals` includes the answer.
  void update(std::uint64_t r, bool denied, const Request& request, const RequestTotals& totals,
              Instant until) noexcept {
    const std::uint64_t own = denied ? 0 : 1;
    const std::uint64_t others = totals.begun - request.answered_before - 1;
    const std::uint64_t at_least = r + own;
    slots_ = std::clamp(slots_, at_least, at_least + others);
    slots_ = std::max<std::uint64_t>(slots_, 1);
    until_ = until;
  }

  [[nodiscard]] bool full(const RequestTotals& totals) const noexcept {
    return totals.begun - totals.ended >= slots_;
  }

  // Whether the last answer that named this limit is no longer in force: the server has dropped the
  // limit, or it is of other requests than those of late.
  [[nodiscard]] bool vanished(Instant now) const noexcept { return now > until_; }

 private:
  LimitId id_;
  std::uint64_t slots_ = 0;
  Instant until_;
};

}  // namespace headgate::client
