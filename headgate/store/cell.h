// One key's state in shared memory, changed by single 128-bit compare-and-swaps.
//
// A cell is empty, held by a key, or claimed: taken for a key that has not confirmed yet that it is
// in no other cell (shelf.h). The bytes are described in docs/table-format.md.
//
// Nobody ever waits for a cell. A process that dies at any instruction leaves a cell that is whole,
// or claimed, and a claimed cell may be taken by anyone.
#pragma once

#include <x86intrin.h>

#include <atomic>
#include <cstdint>
#include <limits>
#include <optional>

#include "headgate/base/instant.h"
#include "headgate/limit/linear.h"

namespace headgate::store {

// Two words that change together.
class alignas(16) DoubleWord {
 public:
  [[nodiscard]] std::uint64_t low() const noexcept { return load(words_[0]); }
  [[nodiscard]] std::uint64_t high() const noexcept { return load(words_[1]); }

  // The halves may be from different moments. Good enough to hand to replace(), which checks.
  [[nodiscard]] u128 glance() const noexcept {
    const std::uint64_t first = low();
    return u128{high()} << 64 | first;
  }

  // A full barrier, whether it succeeds or not: what the insertion protocol in shelf.h rests on.
  bool replace(u128 expected, u128 desired) noexcept {
    return __sync_bool_compare_and_swap(reinterpret_cast<u128*>(words_), expected, desired);
  }

 private:
  static std::uint64_t load(const std::uint64_t& word) noexcept {
    return __atomic_load_n(&word, __ATOMIC_ACQUIRE);
  }

  std::uint64_t words_[2];
};

// 63 bits of a key's hash, never 0. The lowest bit of a cell's tag word marks a claim.
using Tag = std::uint64_t;
inline constexpr Tag claim_mark = 1;

[[nodiscard]] constexpr u128 pack(std::uint64_t low, std::uint64_t high) noexcept {
  return u128{high} << 64 | low;
}

// Differs from every nonce taken elsewhere at any time: a time stamp counter is read once per
// instant and processor. Keeps a slow claimer from confirming somebody else's claim.
[[nodiscard]] inline std::uint64_t claim_nonce() noexcept {
  unsigned processor = 0;
  const std::uint64_t ticks = __rdtscp(&processor);
  return ticks << 12 | (processor & 0xfff);
}

// 16 bytes: {tag, tat} of a linear law whose interval is a whole number of nanoseconds.
class NarrowCell {
 public:
  using Law = limit::LinearWhole;
  using State = Law::State;

  // What was read; replaced only if it is still there.
  struct Seen {
    std::uint64_t tag_word = 0;
    std::uint64_t value = 0;

    [[nodiscard]] bool empty() const noexcept { return tag_word == 0; }
    [[nodiscard]] bool claimed() const noexcept { return (tag_word & claim_mark) != 0; }
    [[nodiscard]] State state() const noexcept { return static_cast<State>(value); }
    [[nodiscard]] Nanos full_at() const noexcept { return state(); }
    [[nodiscard]] State state_for(const Law&) const noexcept { return state(); }
  };

  [[nodiscard]] static State state_from(Nanos full_at, const Law&) noexcept {
    return static_cast<State>(full_at);
  }
  [[nodiscard]] static Nanos full_at(State state, const Law& law) noexcept {
    return law.full_at(state);
  }

  [[nodiscard]] std::uint64_t tag_word() const noexcept { return word_.low(); }
  [[nodiscard]] Seen read() const noexcept {
    const std::uint64_t tag_word = word_.low();
    return {tag_word, word_.high()};
  }
  // True if what was seen is still what is there, or was there after it was read.
  [[nodiscard]] bool holds(const Seen& seen) noexcept { return word_.low() == seen.tag_word; }

  bool update(const Seen& seen, State next, const Law&) noexcept {
    return word_.replace(pack(seen.tag_word, seen.value),
                         pack(seen.tag_word, static_cast<std::uint64_t>(next)));
  }
  bool claim(const Seen& seen, Tag tag, std::uint64_t nonce) noexcept {
    return word_.replace(pack(seen.tag_word, seen.value), pack(tag | claim_mark, nonce));
  }
  bool confirm(Tag tag, std::uint64_t nonce, State state, const Law&) noexcept {
    return word_.replace(pack(tag | claim_mark, nonce),
                         pack(tag, static_cast<std::uint64_t>(state)));
  }
  bool clear(const Seen& seen) noexcept {
    return word_.replace(pack(seen.tag_word, seen.value), 0);
  }
  bool withdraw(Tag tag, std::uint64_t nonce) noexcept {
    return word_.replace(pack(tag | claim_mark, nonce), 0);
  }

 private:
  DoubleWord word_;
};

// 32 bytes: {tag, scale} and the tat in ticks of 1/scale ns, for every other linear law.
//
// The state word carries 120 bits of ticks and 8 bits that change whenever the cell changes hands,
// so that an update meant for the former key can't hit the next one's state.
class WideCell {
 public:
  using Law = limit::LinearExact;
  using State = Law::State;

  struct Seen {
    std::uint64_t tag_word = 0;
    std::uint64_t scale = 0;  // of a claimed cell: the nonce
    u128 value = 0;

    [[nodiscard]] bool empty() const noexcept { return tag_word == 0; }
    [[nodiscard]] bool claimed() const noexcept { return (tag_word & claim_mark) != 0; }
    [[nodiscard]] State state() const noexcept { return static_cast<State>(value) >> 8; }
    [[nodiscard]] Nanos full_at() const noexcept {
      return ceil_div(state(), static_cast<State>(scale == 0 ? 1 : scale));
    }
    // A policy whose quota was changed counts in other ticks than the cell.
    [[nodiscard]] State state_for(const Law& law) const noexcept {
      return scale == scale_of(law) ? state() : state_from(full_at(), law);
    }
  };

  [[nodiscard]] static State state_from(Nanos full_at, const Law& law) noexcept {
    return full_at * law.scale();
  }
  [[nodiscard]] static Nanos full_at(State state, const Law& law) noexcept {
    return law.full_at(state);
  }

  [[nodiscard]] std::uint64_t tag_word() const noexcept { return owner_.low(); }
  [[nodiscard]] Seen read() const noexcept {
    Seen seen;
    do {
      seen.tag_word = owner_.low();
      seen.scale = owner_.high();
      seen.value = state_.glance();
    } while (seen.tag_word != owner_.low() || seen.scale != owner_.high());
    return seen;
  }
  // A swap of the state with itself: the one way to know that both halves belong together.
  [[nodiscard]] bool holds(const Seen& seen) noexcept {
    return state_.replace(seen.value, seen.value);
  }

  bool update(const Seen& seen, State next, const Law& law) noexcept {
    const auto hands = static_cast<std::uint8_t>(seen.value);
    if (seen.scale == scale_of(law)) return state_.replace(seen.value, packed(next, hands));
    // Other ticks: hold the cell while both words change, and let go unchanged if a request
    // that still counts in the old ones came in between.
    const Tag tag = seen.tag_word;
    const std::uint64_t nonce = claim_nonce();
    if (!claim(seen, tag, nonce)) return false;
    const bool swapped =
        state_.replace(seen.value, packed(next, static_cast<std::uint8_t>(hands + 1)));
    const bool kept = owner_.replace(pack(tag | claim_mark, nonce),
                                     pack(tag, swapped ? scale_of(law) : seen.scale));
    return swapped && kept;
  }
  bool claim(const Seen& seen, Tag tag, std::uint64_t nonce) noexcept {
    return owner_.replace(pack(seen.tag_word, seen.scale), pack(tag | claim_mark, nonce));
  }
  bool confirm(Tag tag, std::uint64_t nonce, State state, const Law& law) noexcept {
    const u128 mine = pack(tag | claim_mark, nonce);
    for (;;) {
      const u128 old = state_.glance();
      if (owner_.glance() != mine) return false;
      if (state_.replace(old, packed(state, static_cast<std::uint8_t>(old + 1)))) break;
    }
    return owner_.replace(mine, pack(tag, scale_of(law)));
  }
  bool clear(const Seen& seen) noexcept {
    return owner_.replace(pack(seen.tag_word, seen.scale), 0);
  }
  bool withdraw(Tag tag, std::uint64_t nonce) noexcept {
    return owner_.replace(pack(tag | claim_mark, nonce), 0);
  }

 private:
  static std::uint64_t scale_of(const Law& law) noexcept {
    return static_cast<std::uint64_t>(law.scale());
  }
  static u128 packed(State ticks, std::uint8_t hands) noexcept {
    return static_cast<u128>(ticks) << 8 | hands;
  }

  DoubleWord owner_;
  DoubleWord state_;
};

static_assert(sizeof(NarrowCell) == 16 && sizeof(WideCell) == 32);

}  // namespace headgate::store
