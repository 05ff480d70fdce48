// SipHash (Aumasson and Bernstein, 2012), a keyed hash: with 64 bits of output for the table, with
// 128 for opaque partition keys. Without the secret, an attacker cannot choose keys that collide.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace headgate {

struct HashSecret {
  std::uint64_t k0 = 0;
  std::uint64_t k1 = 0;
};

struct Hash128 {
  std::uint64_t lo;
  std::uint64_t hi;
  friend constexpr bool operator==(const Hash128&, const Hash128&) = default;
};

namespace siphash_detail {

struct State {
  std::uint64_t v0, v1, v2, v3;

  constexpr void round() noexcept {
    v0 += v1;
    v1 = std::rotl(v1, 13) ^ v0;
    v0 = std::rotl(v0, 32);
    v2 += v3;
    v3 = std::rotl(v3, 16) ^ v2;
    v0 += v3;
    v3 = std::rotl(v3, 21) ^ v0;
    v2 += v1;
    v1 = std::rotl(v1, 17) ^ v2;
    v2 = std::rotl(v2, 32);
  }

  template <int rounds>
  constexpr void rounds_of() noexcept {
#pragma GCC unroll 4
    for (int i = 0; i < rounds; ++i) round();
  }
};

inline std::uint64_t load_le(const char* p) noexcept {
  static_assert(std::endian::native == std::endian::little);
  std::uint64_t word = 0;
  std::memcpy(&word, p, 8);
  return word;
}

// The up to seven bytes after the last whole word of `bytes`, little-endian.
inline std::uint64_t load_tail(std::string_view bytes) noexcept {
  const std::size_t left = bytes.size() % 8;
  if (left == 0) return 0;
  const char* end = bytes.data() + bytes.size();
  if (bytes.size() >= 8) return load_le(end - 8) >> (64 - 8 * left);
  std::uint64_t word = 0;
  for (const char* p = end; p != end - left;) word = word << 8 | static_cast<unsigned char>(*--p);
  return word;
}

// The state after all of `bytes`; only the d rounds at the end are missing. `wide`: for an output
// of 128 bits.
template <int c>
[[nodiscard]] inline State absorbed(const HashSecret& secret, std::string_view bytes,
                                    bool wide) noexcept {
  State s{0x736f6d6570736575 ^ secret.k0, 0x646f72616e646f6d ^ secret.k1 ^ (wide ? 0xee : 0),
          0x6c7967656e657261 ^ secret.k0, 0x7465646279746573 ^ secret.k1};
  const char* const words_end = bytes.data() + bytes.size() / 8 * 8;
  for (const char* p = bytes.data(); p != words_end; p += 8) {
    const std::uint64_t word = load_le(p);
    s.v3 ^= word;
    s.rounds_of<c>();
    s.v0 ^= word;
  }
  const std::uint64_t last = load_tail(bytes) | static_cast<std::uint64_t>(bytes.size() & 0xff)
                                                    << 56;
  s.v3 ^= last;
  s.rounds_of<c>();
  s.v0 ^= last;
  s.v2 ^= wide ? 0xee : 0xff;
  return s;
}

}  // namespace siphash_detail

// SipHash-c-d of `bytes`, 64-bit output. No allocation; linear in the length.
template <int c, int d>
[[nodiscard]] inline std::uint64_t siphash64(const HashSecret& secret,
                                             std::string_view bytes) noexcept {
  siphash_detail::State s = siphash_detail::absorbed<c>(secret, bytes, false);
  s.rounds_of<d>();
  return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

// The same with 128-bit output.
template <int c, int d>
[[nodiscard]] inline Hash128 siphash(const HashSecret& secret, std::string_view bytes) noexcept {
  siphash_detail::State s = siphash_detail::absorbed<c>(secret, bytes, true);
  s.rounds_of<d>();
  const std::uint64_t lo = s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
  s.v1 ^= 0xdd;
  s.rounds_of<d>();
  return {lo, s.v0 ^ s.v1 ^ s.v2 ^ s.v3};
}

// Expands a 64-bit hash to 128 bits: `lo` is the hash. For each low half of `lo`, the low 32 bits
// of `hi` are a bijection of its high half: both low halves together identify the hash (a cell's
// tag). The high halves of `lo` and `hi` select a key's first and second bucket.
[[nodiscard]] constexpr Hash128 expand_hash(std::uint64_t word) noexcept {
  return {word, std::rotl(word * 0x9e3779b97f4a7c15, 32)};
}

// The hash of the table. SipHash-1-3 is enough because the output never leaves the process; 64 bits
// are enough because clients cannot choose keys that collide in them.
[[nodiscard]] inline Hash128 table_hash(const HashSecret& secret, std::string_view key) noexcept {
  return expand_hash(siphash64<1, 3>(secret, key));
}

// The hash for values that leave the process (opaque partition keys): SipHash-2-4.
[[nodiscard]] inline Hash128 public_hash(const HashSecret& secret, std::string_view key) noexcept {
  return siphash<2, 4>(secret, key);
}

}  // namespace headgate
