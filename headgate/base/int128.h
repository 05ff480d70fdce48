// 128-bit integers, for times in nanoseconds and their products with quotas.
#pragma once

#include <cstdint>

namespace headgate {

__extension__ typedef __int128 i128;
__extension__ typedef unsigned __int128 u128;

inline constexpr i128 i128_max = static_cast<i128>(~u128{0} >> 1);

// Smallest integer >= a / b, for b > 0.
template <class Int>
[[nodiscard]] constexpr Int ceil_div(Int a, Int b) noexcept {
  return a / b + (a % b > 0 ? 1 : 0);
}

// Largest integer <= a / b, for b > 0.
template <class Int>
[[nodiscard]] constexpr Int floor_div(Int a, Int b) noexcept {
  return a / b - (a % b < 0 ? 1 : 0);
}

}  // namespace headgate
