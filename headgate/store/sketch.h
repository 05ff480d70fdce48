// Where a table counts the keys for which it has no room: a count-min sketch of debts.
//
// Each key has two cells, which it shares with other keys. A cell is a time that is not before the
// end of the debt of any of its keys (limit/coarse.h). So the earlier cell of a key is at most too
// late; a charge begins there, and then both cells are at least as late as the new end. A debt that
// a cell contains is never shortened, because the cell may be that late for another key.
//
// Slots are different, since most are released long before their lease ends. A key of slots has one
// cell, which is the end of the debts of all its keys, one after the other; a release subtracts
// what time has not returned yet.
//
// Each class of windows has cells of its own, because a debt of an hour would deny every key of a
// policy that counts by the second; so has each room of the table, because a flood that fills one
// must not deny keys that have a place in another. The first class of a room that needs the sketch
// gets half of the cells, the next one half of what is left, and so on. From the eighth on they
// share what is left.
//
// A charge first moves the later cell and then swaps the earlier one, which decides. So at every
// moment both cells of a key contain all that was admitted before, and concurrent requests are not
// admitted a unit more than one after the other. A process that dies in between leaves one cell too
// late, until that debt is over.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <span>

#include "headgate/base/instant.h"
#include "headgate/base/siphash.h"
#include "headgate/limit/coarse.h"
#include "headgate/limit/law.h"

namespace headgate::store {

// Until when a debt lasts [ns of the table's time] plus 2^63, so that zeroed memory means that
// there has been none.
using DebtCell = std::atomic<std::uint64_t>;
static_assert(sizeof(DebtCell) == 8 && DebtCell::is_always_lock_free);

// Part of the table's header.
struct SketchHead {
  // Of the parts of the sketch, a byte each: the class, and in the high two bits the Room.
  std::atomic<std::uint64_t> classes{0};
  DebtCell busy_until{0};                // no cell is later
  std::atomic<std::uint64_t> unkept{0};  // decisions on keys for which there was no room
};

// Where a key would have its place. Those of slots have a class of at least 1.
enum class Room : std::uint8_t { slots, narrow_cells, wide_cells, ledger };

// A charge of a key that may have no place in the table.
struct UnkeptCharge {
  Hash128 key;
  Room room;
  limit::Op op;
  std::uint64_t cost;
  Instant since;  // of a refund: when the units were taken; {} if unknown
  Instant now;
};

class Sketch {
 public:
  static constexpr std::size_t cells_min = 256;  // two in the smallest part

  Sketch() = default;
  // `cells` and `head` are the caller's, shared with other processes. REQUIRES: at least cells_min
  // cells, which are zeroed or contain a sketch.
  Sketch(std::span<DebtCell> cells, SketchHead& head) noexcept : cells_(cells), head_(&head) {}

  // Whether any key may have a debt.
  [[nodiscard]] bool busy(Instant now) const noexcept {
    return time_of(head_->busy_until.load()) > now.ns;
  }

  // Until when the debt of this key lasts, at most [ns]; std::nullopt if it has none. Never later
  // than the longest debt that a lone key can have.
  [[nodiscard]] std::optional<Nanos> owed_until(const UnkeptCharge& charge,
                                                const limit::Coarse& law) const noexcept {
    if (!busy(charge.now)) return std::nullopt;
    return find_debt(charge, law);
  }

  struct Decided {
    limit::Decision decision;
    bool took = false;
  };
  // Decides and counts a charge. `floor`: until when the key's debt lasts at least, as a state of
  // its own says [ns].
  Decided decide(const UnkeptCharge& charge, const limit::Coarse& law,
                 std::optional<Nanos> floor = std::nullopt) noexcept;

  [[nodiscard]] std::uint64_t unkept() const noexcept {
    return head_->unkept.load(std::memory_order_relaxed);
  }

 private:
  // The parts of the sketch: one per byte of SketchHead::classes, and the one that is shared.
  static constexpr unsigned own_parts = 7;

  struct Pair {
    DebtCell* first;
    DebtCell* second;
  };

  [[nodiscard]] static constexpr std::int64_t time_of(std::uint64_t cell) noexcept {
    return static_cast<std::int64_t>(cell ^ std::uint64_t{1} << 63);
  }
  [[nodiscard]] static constexpr std::uint64_t cell_of(std::int64_t time) noexcept {
    return static_cast<std::uint64_t>(time) ^ std::uint64_t{1} << 63;
  }

  [[nodiscard]] std::optional<Nanos> find_debt(const UnkeptCharge& charge,
                                               const limit::Coarse& law) const noexcept;
  [[nodiscard]] std::optional<unsigned> find_part(std::uint64_t name) const noexcept;
  [[nodiscard]] unsigned part_for(std::uint64_t name) noexcept;
  [[nodiscard]] Pair cells_of(const Hash128& key, unsigned part,
                              const limit::Coarse& law) const noexcept;
  void announce(std::int64_t until, const limit::Coarse& law) noexcept;
  static void heal(DebtCell& cell, const limit::Coarse& law, std::int64_t now,
                   Nanos longest_debt) noexcept;
  static void raise(DebtCell& cell, std::int64_t until) noexcept;
  static void lower(DebtCell& cell, Nanos by, std::int64_t now) noexcept;

  std::span<DebtCell> cells_;
  SketchHead* head_ = nullptr;
};

}  // namespace headgate::store
