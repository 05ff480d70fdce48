// Decimal digits of a number, eight at a time by arithmetic.
#pragma once

#include <cstdint>

namespace headgate {

// The eight digits of `value`, one per byte (0 to 9), the most significant digit in the lowest
// byte. REQUIRES: value < 100,000,000.
//
// Splits the number into two groups of four digits, then four of two, then eight of one. All groups
// of a size are divided at once: their values are so small that a multiplication and a shift give
// the quotient by 100 or 10. Faster than std::to_chars; `build/release/bin/steps_bench` measures it
// (report_writes).
[[nodiscard]] constexpr std::uint64_t eight_digits(std::uint64_t value) noexcept {
  const std::uint64_t fours = value / 10'000 | (value % 10'000) << 32;
  const std::uint64_t hundreds = (fours * 5243 >> 19) & 0x0000'007f'0000'007f;
  const std::uint64_t twos = hundreds | (fours - hundreds * 100) << 16;
  const std::uint64_t tens = (twos * 103 >> 10) & 0x000f'000f'000f'000f;
  return tens | (twos - tens * 10) << 8;
}

}  // namespace headgate
