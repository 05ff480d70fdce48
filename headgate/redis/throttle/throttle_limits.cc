#include "headgate/redis/throttle/throttle_limits.h"

namespace headgate::redis {

std::size_t ThrottleLimits::home(const ThrottleRate& rate) noexcept {
  constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio: spreads close numbers
  std::uint64_t mixed = static_cast<std::uint64_t>(rate.capacity) * odd;
  mixed = (mixed ^ static_cast<std::uint64_t>(rate.count)) * odd;
  mixed = (mixed ^ static_cast<std::uint64_t>(rate.period)) * odd;
  return mixed >> 58;
}

const ThrottleLimit* ThrottleLimits::find(const ThrottleRate& rate) const noexcept {
  static_assert(kept_max == 64);  // home() returns 6 bits
  const ThrottleLimit& limit = limits_[home(rate)];
  return limit.rate == rate && limit.interval > 0 ? &limit : nullptr;
}

Result<const ThrottleLimit*, std::string_view> ThrottleLimits::make(
    const ThrottleRate& rate) noexcept {
  using Fault = Failure<std::string_view>;
  if (rate.count == 0 || rate.period == 0) return Fault("Zero rates are not supported");
  if (rate.count < 0 || rate.period < 0) return Fault("Negative rates are not supported");
  constexpr auto units_max = static_cast<std::int64_t>(limit::Quota::units_max);
  if (rate.capacity < 1 || rate.capacity > units_max) return Fault("max_burst is out of range");
  const Nanos interval = static_cast<Nanos>(rate.period) * nanos_per_second / rate.count;
  if (interval == 0) return Fault("More than one unit a nanosecond is not supported");
  if (interval > limit::Quota::window_max / rate.capacity) {
    return Fault("period is out of range for this max_burst and count");
  }
  const limit::Quota quota{static_cast<std::uint64_t>(rate.capacity), interval * rate.capacity};
  limit::Terms terms;
  terms.reset = limit::Reset::full;
  const auto law = limit::make_law(quota, terms);
  if (!law) return Fault("period is out of range for this max_burst and count");
  ThrottleLimit& limit = limits_[home(rate)];
  limit = {rate, interval, *law};
  return &limit;
}

}  // namespace headgate::redis
