#include "headgate/limit/shared.h"

#include <algorithm>
#include <type_traits>

namespace headgate::limit {
namespace {

// 2^51 us: times since 1970 in microseconds, and sums with a window, are below 2^53.
constexpr Nanos leased_window_max = (Nanos{1} << 51) * 1000;
constexpr Nanos interval_max = Nanos{1} << 62;  // [ticks]

template <class L>
bool fits(const L& law) noexcept {
  if constexpr (std::is_same_v<L, LinearWhole> || std::is_same_v<L, LinearExact>) {
    return static_cast<Nanos>(law.window()) / static_cast<Nanos>(law.scale()) <=
               leased_window_max &&
           static_cast<Nanos>(law.interval()) <= interval_max;
  } else if constexpr (std::is_same_v<L, FixedWindow>) {
    return law.calendar() == nullptr && law.window() <= leased_window_max &&
           law.window() % 1000 == 0 && law.offset() % 1000 == 0;
  } else {
    return false;
  }
}

}  // namespace

std::uint64_t leasable(const Law& law) noexcept {
  constexpr std::uint64_t share = 10;
  constexpr std::uint64_t least = 2;
  return std::visit(
      [](const auto& one) -> std::uint64_t {
        if (!fits(one)) return 0;
        if constexpr (requires { one.quota(); }) {
          return one.quota() / share < least ? 0 : one.quota() / share;
        }
        return 0;
      },
      law);
}

Quota share_of(const Quota& quota, unsigned percent) noexcept {
  Quota share = quota;
  if (quota.units == 0 || percent >= 100) return share;
  // units_max * 100 fits into 64 bits.
  share.units = std::max<std::uint64_t>(quota.units * percent / 100, 1);
  if (quota.count != 0) {
    share.period = std::min((quota.period * 100 + percent - 1) / percent, Quota::window_max);
  }
  return share;
}

}  // namespace headgate::limit
