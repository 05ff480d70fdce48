// Decimal digits of numbers, several at once by arithmetic.
#pragma once

#include <cstdint>

namespace headgate {

// The eight digits of `value` < 100,000,000, one a byte (0 to 9), the first in the lowest one. The
// number is halved into lanes of four digits, two and one; where a lane's value is small enough its
// quotient by 100 or 10 is a multiplication.
[[nodiscard]] constexpr std::uint64_t eight_digits(std::uint64_t value) noexcept {
  const std::uint64_t fours = value / 10'000 | (value % 10'000) << 32;
  const std::uint64_t hundreds = (fours * 5243 >> 19) & 0x0000'007f'0000'007f;
  const std::uint64_t twos = hundreds | (fours - hundreds * 100) << 16;
  const std::uint64_t tens = (twos * 103 >> 10) & 0x000f'000f'000f'000f;
  return tens | (twos - tens * 10) << 8;
}

}  // namespace headgate
