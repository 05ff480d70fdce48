// What depends on the processor: the swap of 16 bytes, a number for claims, and a pause.
// x86-64 and 64-bit ARM have each a form of it. docs/memory-order.md says why both suffice.
#pragma once

#if defined(__x86_64__)
#include <x86intrin.h>
#elif defined(__aarch64__)
#include <sched.h>
#include <sys/auxv.h>
#else
#error "headgate's table swaps 16 bytes at once: it needs x86-64 or 64-bit ARM"
#endif

#include <bit>
#include <cstdint>

#include "headgate/base/int128.h"

namespace headgate::store {

static_assert(std::endian::native == std::endian::little, "docs/table-format.md");

#if defined(__x86_64__)

// Replaces two words in one step if they are `expected`, and returns whether it has. Other steps on
// these words are before or after it, also those of other processes. A full barrier if it has
// replaced them, and an acquire barrier if not.
inline bool swap_words(std::uint64_t (&words)[2], u128 expected, u128 desired) noexcept {
  return __sync_bool_compare_and_swap(reinterpret_cast<u128*>(words), expected, desired);
}

// A number that differs from every other one: no processor returns the same time stamp twice. Linux
// stores the processor's number in the low 12 bits of what rdtscp returns.
[[nodiscard]] inline std::uint64_t unique_number() noexcept {
  unsigned processor = 0;
  const std::uint64_t ticks = __rdtscp(&processor);
  return ticks << 12 | (processor & 0xfff);
}

// In a loop that waits for another processor.
inline void pause() noexcept { _mm_pause(); }

#else

// Whether the processor has casp (LSE, from ARMv8.1 on). False until static objects are made: the
// two forms of swap_words() may be mixed.
#if defined(__ARM_FEATURE_ATOMICS)
inline constexpr bool has_casp = true;
#else
inline const bool has_casp = (getauxval(AT_HWCAP) & (1u << 8)) != 0;  // HWCAP_ATOMICS
#endif

// casp with acquire and release is a full barrier if it has replaced the words.
inline bool swap_words_lse(std::uint64_t (&words)[2], u128 expected, u128 desired) noexcept {
  // casp takes pairs of registers of which the first one has an even number.
  register std::uint64_t old_low asm("x0") = static_cast<std::uint64_t>(expected);
  register std::uint64_t old_high asm("x1") = static_cast<std::uint64_t>(expected >> 64);
  register std::uint64_t new_low asm("x2") = static_cast<std::uint64_t>(desired);
  register std::uint64_t new_high asm("x3") = static_cast<std::uint64_t>(desired >> 64);
  asm volatile(
      ".arch_extension lse\n\t"
      "caspal %[old_low], %[old_high], %[new_low], %[new_high], %[words]"
      : [old_low] "+r"(old_low), [old_high] "+r"(old_high), [words] "+Q"(words)
      : [new_low] "r"(new_low), [new_high] "r"(new_high)
      : "memory");
  return (u128{old_high} << 64 | old_low) == expected;
}

// ldaxp alone may read its words at two moments; only if stlxp succeeds, they are of one. If a word
// differs from the expected one, then it did so at its own moment, which suffices to return false.
inline bool swap_words_exclusive(std::uint64_t (&words)[2], u128 expected, u128 desired) noexcept {
  std::uint64_t low;
  std::uint64_t high;
  std::uint32_t failed;
  asm volatile(
      "1: ldaxp %[low], %[high], %[words]\n\t"
      "cmp %[low], %[old_low]\n\t"
      "ccmp %[high], %[old_high], #0, eq\n\t"
      "cset %w[failed], ne\n\t"
      "b.ne 2f\n\t"
      "stlxp %w[failed], %[new_low], %[new_high], %[words]\n\t"
      "cbnz %w[failed], 1b\n\t"
      "dmb ish\n"
      "2:"
      : [low] "=&r"(low), [high] "=&r"(high), [failed] "=&r"(failed), [words] "+Q"(words)
      : [old_low] "r"(static_cast<std::uint64_t>(expected)),
        [old_high] "r"(static_cast<std::uint64_t>(expected >> 64)),
        [new_low] "r"(static_cast<std::uint64_t>(desired)),
        [new_high] "r"(static_cast<std::uint64_t>(desired >> 64))
      : "cc", "memory");
  return failed == 0;
}

// As above. Not the compiler's __atomic functions: for 16 bytes they call libatomic, which may use
// locks of one process.
inline bool swap_words(std::uint64_t (&words)[2], u128 expected, u128 desired) noexcept {
  return has_casp ? swap_words_lse(words, expected, desired)
                  : swap_words_exclusive(words, expected, desired);
}

// As above. The counter may stand still for up to a microsecond, but no processor changes between
// threads that fast; and one thread's claims follow each other.
[[nodiscard]] inline std::uint64_t unique_number() noexcept {
  for (;;) {
    const int processor = sched_getcpu();
    std::uint64_t ticks;
    asm volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(ticks) : : "memory");
    if (sched_getcpu() == processor) {  // else the thread has moved meanwhile
      return ticks << 12 | (static_cast<std::uint64_t>(processor) & 0xfff);
    }
  }
}

inline void pause() noexcept { asm volatile("yield" : : : "memory"); }

#endif

}  // namespace headgate::store
