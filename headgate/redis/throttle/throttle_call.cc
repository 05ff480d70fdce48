#include "headgate/redis/throttle/throttle_call.h"

#include <limits>
#include <optional>

#include "headgate/base/whole_number.h"

namespace headgate::redis {
namespace {

// The most bytes of an argument that an error repeats: longer than every integer, short in a log.
constexpr std::size_t shown_max = 64;

std::optional<std::int64_t> parse(std::string_view text) noexcept {
  const bool plus = text.size() > 1 && text[0] == '+' && text[1] != '-';
  return whole_number<std::int64_t>(text.substr(plus ? 1 : 0));
}

// Returns the error of the dialect's own program: throttlecrab names the argument, redis-cell
// repeats its text.
ThrottleFault not_an_integer(ThrottleDialect dialect, std::size_t index,
                             std::string_view text) noexcept {
  constexpr std::array<std::string_view, 4> names = {"max_burst", "count_per_period", "period",
                                                     "quantity"};
  if (dialect == ThrottleDialect::throttlecrab) return {"ERR invalid ", names[index]};
  return {"ERR Couldn't parse as integer: ", text.substr(0, shown_max)};
}

std::int64_t seconds(Nanos span) noexcept { return static_cast<std::int64_t>(ceil_seconds(span)); }

}  // namespace

Result<ThrottleCall, ThrottleFault> ThrottleCall::read(
    ThrottleDialect dialect, std::span<const std::string_view> words) noexcept {
  std::array<std::int64_t, 4> numbers = {0, 0, 0, 1};
  for (std::size_t i = 0; i + 2 < words.size(); ++i) {
    const auto number = parse(words[i + 2]);
    if (!number) return Failure<ThrottleFault>(not_an_integer(dialect, i, words[i + 2]));
    numbers[i] = *number;
  }
  ThrottleCall call{dialect, {numbers[0], numbers[1], numbers[2]}, numbers[3]};
  if (dialect == ThrottleDialect::throttlecrab) {
    if (call.quantity < 0) return Failure<ThrottleFault>({"ERR invalid ", "quantity"});
  } else if (call.rate.capacity < std::numeric_limits<std::int64_t>::max()) {
    ++call.rate.capacity;  // a burst of 0 is one unit at once
  }
  return call;
}

limit::Op ThrottleCall::op() const noexcept {
  if (quantity < 0) return limit::Op::refund;
  return quantity == 0 || too_much() ? limit::Op::peek : limit::Op::spend;
}

std::uint64_t ThrottleCall::cost() const noexcept {
  const auto units = static_cast<std::uint64_t>(quantity);
  if (quantity < 0) return 0 - units;
  return too_much() ? 0 : units;
}

std::array<std::int64_t, 5> ThrottleCall::reply(const ThrottleLimit& limit,
                                                const limit::Decision& decision) const noexcept {
  constexpr std::int64_t never = -1;
  const bool passes = admitted(decision);
  const std::int64_t wait = too_much() ? never : seconds(decision.wait);
  const std::int64_t reset = decision.admitted ? static_cast<std::int64_t>(decision.reset)
                                               : seconds(limit.full_in(decision, cost()));
  const auto remaining = static_cast<std::int64_t>(decision.remaining);
  if (dialect == ThrottleDialect::throttlecrab) {
    return {passes ? 1 : 0, rate.capacity, remaining, reset, wait};
  }
  constexpr std::int64_t not_limited = -1;
  return {passes ? 0 : 1, rate.capacity, remaining, passes ? not_limited : wait, reset};
}

}  // namespace headgate::redis
