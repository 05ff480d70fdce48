// One key's state in shared memory, changed by single 128-bit compare-and-swaps.
//
// A cell is empty, held by a key, or claimed: reserved for a key until its request has verified
// that the key is in no other cell (cell_table.h). The bytes are described in docs/table-format.md.
//
// No operation waits for a cell. A process that dies at any instruction leaves a cell that is
// complete or claimed, and any process may take a claimed cell.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "headgate/base/instant.h"
#include "headgate/limit/coarse.h"
#include "headgate/limit/linear.h"
#include "headgate/store/processor.h"

namespace headgate::store {

// Two words that are swapped together.
class alignas(16) DoubleWord {
 public:
  [[nodiscard]] std::uint64_t low() const noexcept { return load(words_[0]); }
  [[nodiscard]] std::uint64_t high() const noexcept { return load(words_[1]); }

  // Reads one half after the other, so they may be of different moments. Sufficient as the expected
  // value of replace(), which compares both.
  [[nodiscard]] u128 read_halves() const noexcept {
    const std::uint64_t first = low();
    return u128{high()} << 64 | first;
  }

  // Returns false if the value is not `expected`. A full barrier if it returns true: the insertion
  // in cell_table.h depends on it.
  bool replace(u128 expected, u128 desired) noexcept {
    return swap_words(words_, expected, desired);
  }

 private:
  // Not only with acquire order: the search of an insertion may not be before a charge to the
  // sketch, which is no full barrier on every processor.
  static std::uint64_t load(const std::uint64_t& word) noexcept {
    return __atomic_load_n(&word, __ATOMIC_SEQ_CST);
  }

  std::uint64_t words_[2];
};

// 57 bits of a key's hash, never 0, and in the low 6 bits the class of its policy's window. A
// cell's tag word is the tag of its key; one more bit marks a claim.
using Tag = std::uint64_t;
inline constexpr Tag claim_mark = 1 << limit::span_class_bits;
inline constexpr Tag class_mask = claim_mark - 1;

// Whether two tag words are of the same key, if neither is claimed.
[[nodiscard]] constexpr bool same_key(std::uint64_t one, std::uint64_t other) noexcept {
  return ((one ^ other) & ~class_mask) == 0;
}
// Until when a key keeps its cell [ns]: for at least a window after its quota is full again.
[[nodiscard]] constexpr Nanos kept_until(std::uint64_t tag_word, Nanos full_at) noexcept {
  return full_at + limit::longest_span(static_cast<unsigned>(tag_word & class_mask));
}

[[nodiscard]] constexpr u128 pack(std::uint64_t low, std::uint64_t high) noexcept {
  return u128{high} << 64 | low;
}

// A number that differs from every other nonce. Because of it a slow claimer cannot confirm a later
// claim of the same cell.
[[nodiscard]] inline std::uint64_t claim_nonce() noexcept { return unique_number(); }

// 16 bytes, {tag, tat}: the state of a linear law whose interval is a whole number of nanoseconds.
class NarrowCell {
 public:
  using Law = limit::LinearWhole;
  using State = Law::State;

  // What read() returned. The operations below change the cell only if it still contains that.
  struct Seen {
    std::uint64_t tag_word = 0;
    std::uint64_t value = 0;

    [[nodiscard]] bool empty() const noexcept { return tag_word == 0; }
    [[nodiscard]] bool claimed() const noexcept { return (tag_word & claim_mark) != 0; }
    [[nodiscard]] static constexpr bool evicted() noexcept { return false; }
    [[nodiscard]] static constexpr bool fits(const Law&) noexcept { return true; }
    [[nodiscard]] State state() const noexcept { return static_cast<State>(value); }
    [[nodiscard]] Nanos full_at() const noexcept { return state(); }
    [[nodiscard]] State state_for(const Law&) const noexcept { return state(); }
  };

  [[nodiscard]] std::uint64_t tag_word() const noexcept { return word_.low(); }
  [[nodiscard]] Seen read() const noexcept {
    const std::uint64_t tag_word = word_.low();
    return {tag_word, word_.high()};
  }
  // True if the cell contained `seen` at some moment since read() began.
  [[nodiscard]] bool holds(const Seen& seen) noexcept { return word_.low() == seen.tag_word; }

  // `tag` is that of the same key; the class of the window may be another one.
  bool update(const Seen& seen, Tag tag, State next, const Law&) noexcept {
    return word_.replace(pack(seen.tag_word, seen.value),
                         pack(tag, static_cast<std::uint64_t>(next)));
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

// 32 bytes, owner {tag, scale} and state {tat in ticks of 1/scale ns}: for every other linear law.
//
// Owner and state cannot be swapped together. To evict a key, its state is first set to `evicted`,
// which fails if a request has charged the key since it was chosen; only then the owner is changed.
// A request that finds an evicted state under its own tag clears the owner. 7 bits of the state
// (the hands) change with every eviction and confirmation, and 14 bits of the owner (the
// generation) with every confirmation, so that no swap succeeds that was meant for a former key of
// the cell.
//
// If a policy's quota changes, its law counts in other ticks. The cell's state is then kept in
// whole nanoseconds, rounded up (nanos_mark), until the quota is full once.
class WideCell {
 public:
  using Law = limit::LinearExact;
  using State = Law::State;

  struct Seen {
    std::uint64_t tag_word = 0;
    std::uint64_t detail = 0;  // scale and generation; the nonce if the cell is claimed
    u128 value = 0;

    [[nodiscard]] bool empty() const noexcept { return tag_word == 0; }
    [[nodiscard]] bool claimed() const noexcept { return (tag_word & claim_mark) != 0; }
    [[nodiscard]] bool evicted() const noexcept { return state() == evicted_state; }
    [[nodiscard]] bool fits(const Law& law) const noexcept {
      return !in_nanos() && scale() == scale_of(law);
    }
    [[nodiscard]] Nanos full_at() const noexcept {
      return in_nanos() || scale() == 0 ? state() : ceil_div(state(), static_cast<State>(scale()));
    }
    [[nodiscard]] State state_for(const Law& law) const noexcept {
      return fits(law) ? state() : law.state_from(full_at());
    }

   private:
    friend WideCell;
    [[nodiscard]] State state() const noexcept { return static_cast<State>(value) >> 8; }
    [[nodiscard]] bool in_nanos() const noexcept { return (value & nanos_mark) != 0; }
    [[nodiscard]] std::uint64_t scale() const noexcept { return detail & scale_mask; }
    [[nodiscard]] unsigned hands() const noexcept { return static_cast<unsigned>(value) & 0x7f; }
  };

  [[nodiscard]] std::uint64_t tag_word() const noexcept { return owner_.low(); }
  [[nodiscard]] Seen read() const noexcept {
    Seen seen;
    do {
      seen.tag_word = owner_.low();
      seen.detail = owner_.high();
      seen.value = state_.read_halves();
    } while (seen.tag_word != owner_.low() || seen.detail != owner_.high());
    return seen;
  }
  // Swaps the state with itself: only a swap shows that both halves belong together.
  [[nodiscard]] bool holds(const Seen& seen) noexcept {
    return state_.replace(seen.value, seen.value);
  }

  // `tag` is that of the same key. If the class of the window is another one, it is replaced after
  // the state; if that fails, the former class stays until the next update.
  bool update(const Seen& seen, Tag tag, State next, const Law& law) noexcept {
    const u128 desired = seen.fits(law) ? packed(next, seen.hands())
                                        : packed(law.full_at(next), seen.hands()) | nanos_mark;
    if (!state_.replace(seen.value, desired)) return false;
    if (tag != seen.tag_word) {
      owner_.replace(pack(seen.tag_word, seen.detail), pack(tag, seen.detail));
    }
    return true;
  }
  bool claim(const Seen& seen, Tag tag, std::uint64_t nonce) noexcept {
    if (!seen.empty() && !seen.claimed() && !evict(seen)) return false;
    return owner_.replace(pack(seen.tag_word, seen.detail), pack(tag | claim_mark, nonce));
  }
  bool confirm(Tag tag, std::uint64_t nonce, State state, const Law& law) noexcept {
    const u128 mine = pack(tag | claim_mark, nonce);
    for (;;) {
      const u128 old = state_.read_halves();
      if (owner_.read_halves() != mine) return false;
      if (state_.replace(old, packed(state, static_cast<unsigned>(old) + 1))) break;
    }
    const std::uint64_t generation = nonce >> 12 << scale_bits;
    return owner_.replace(mine, pack(tag, scale_of(law) | generation));
  }
  // Makes a claimed or evicted cell empty, or evicts a key.
  bool clear(const Seen& seen) noexcept {
    if (!seen.claimed() && !evict(seen)) return false;
    return owner_.replace(pack(seen.tag_word, seen.detail), 0);
  }
  bool withdraw(Tag tag, std::uint64_t nonce) noexcept {
    return owner_.replace(pack(tag | claim_mark, nonce), 0);
  }

 private:
  static constexpr int scale_bits =
      50;  // the scale is at most Quota::units_max, 999,999,999,999,999
  static constexpr std::uint64_t scale_mask = (std::uint64_t{1} << scale_bits) - 1;
  static constexpr u128 nanos_mark = 0x80;
  static constexpr State evicted_state = -(State{1} << 119);  // before every state of a law

  static std::uint64_t scale_of(const Law& law) noexcept {
    return static_cast<std::uint64_t>(law.scale());
  }
  static u128 packed(State ticks, unsigned hands) noexcept {
    return static_cast<u128>(ticks) << 8 | (hands & 0x7f);
  }
  bool evict(const Seen& seen) noexcept {
    return seen.evicted() || state_.replace(seen.value, packed(evicted_state, seen.hands() + 1));
  }

  DoubleWord owner_;
  DoubleWord state_;
};

static_assert(sizeof(NarrowCell) == 16 && sizeof(WideCell) == 32);

}  // namespace headgate::store
