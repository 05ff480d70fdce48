// CL.THROTTLE and THROTTLE: calls that contain their own limit.
//
//   CL.THROTTLE key max_burst count period [quantity]   redis-cell's: limited, limit, remaining,
//                                                       retry_after, reset_after
//   THROTTLE    key max_burst count period [quantity]   throttlecrab's: allowed, limit, remaining,
//                                                       reset_after, retry_after
//
// docs/resp.md says how the commands differ from each other, and from these two programs.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "headgate/base/result.h"
#include "headgate/limit/law.h"
#include "headgate/redis/throttle/throttle_limits.h"

namespace headgate::redis {

enum class ThrottleDialect : std::uint8_t { redis_cell, throttlecrab };

// A RESP error: a text, and behind it what it repeats of the call.
struct ThrottleFault {
  std::string_view text;
  std::string_view shown;
};

struct ThrottleCall {
  ThrottleDialect dialect = ThrottleDialect::redis_cell;
  ThrottleRate rate;
  std::int64_t quantity = 1;

  // Reads five or six words, the command's name first.
  [[nodiscard]] static Result<ThrottleCall, ThrottleFault> read(
      ThrottleDialect dialect, std::span<const std::string_view> words) noexcept;

  // The quantity is above the capacity, so it is never admitted. The store then is only read, for
  // the units that remain.
  [[nodiscard]] bool too_much() const noexcept { return quantity > rate.capacity; }

  // The operation and the cost for the store.
  [[nodiscard]] limit::Op op() const noexcept;
  [[nodiscard]] std::uint64_t cost() const noexcept;

  [[nodiscard]] bool admitted(const limit::Decision& decision) const noexcept {
    return decision.admitted && !too_much();
  }

  // Returns the five numbers of the reply, in the dialect's order. `limit` is the limit of `rate`,
  // and made `decision`.
  [[nodiscard]] std::array<std::int64_t, 5> reply(const ThrottleLimit& limit,
                                                  const limit::Decision& decision) const noexcept;
};

}  // namespace headgate::redis
