// A hash table of cells of one kind. A key may be in two buckets of four cells each, in any of the
// cells. Buckets are not linked.
//
// Updating. A key is in at most one cell. A request that finds the key computes the next state and
// swaps it in. If the swap fails, another request has changed the cell, and the request starts
// over.
//
// Inserting. Two requests may both find that a key is in no cell. Therefore a request first claims
// a cell (writes the tag and a nonce, no state), then searches both buckets once more, and only
// then confirms the claim with the first state. The claiming swap is a barrier between the claim
// and the search, so of two claimers at least one sees the other. The claim that is later in the
// order of the cells is withdrawn; a claim that stays unconfirmed for too long (its process may be
// dead) is removed. A confirmed cell wins against every claim. So no key is ever confirmed in two
// cells, and no request waits for another one.
//
// Evicting. A new key gets an empty cell, or else the cell of a key whose quota is full again: that
// state is no longer needed, whatever policy it belongs to. If all eight cells are live, the key
// that is nearest to a full quota is evicted, unless the new key is nearer: then the new key is not
// stored. A flood of new keys therefore never evicts a key that is more restricted than they are.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>

#include "headgate/base/siphash.h"
#include "headgate/store/cell.h"

namespace headgate::store {

// Where a key may be in a cell table, and the tag by which it is recognised there.
struct CellAddress {
  Hash128 hash;
  Tag tag;
  std::size_t first;  // the index of the key's first bucket
  std::size_t second;
  unsigned seen;  // the cell of the first bucket that prefetch_rest() found, or `nowhere`
};
inline constexpr unsigned nowhere = 4;  // one more than the last cell of a bucket

struct CellTableCounters {
  std::atomic<std::uint64_t> evictions{0};  // live keys that were removed for more restricted ones
  std::atomic<std::uint64_t> unkept{0};     // new keys that found only more restricted ones
  std::atomic<std::uint64_t> inserts{0};    // keys that got a cell
};

template <class Cell>
struct alignas(64) Bucket {
  std::array<Cell, 4> cells;
};

template <class Cell>
class CellTable {
 public:
  using Law = typename Cell::Law;
  using State = typename Cell::State;
  using Seen = typename Cell::Seen;

  CellTable() = default;
  // `buckets` and `counters` are the caller's, shared with other processes. REQUIRES: at least two
  // buckets, which are zeroed or contain cells of this kind.
  CellTable(std::span<Bucket<Cell>> buckets, CellTableCounters& counters) noexcept
      : buckets_(buckets), counters_(&counters) {}

  [[nodiscard]] std::size_t cells() const noexcept { return buckets_.size() * 4; }
  [[nodiscard]] std::uint64_t inserts() const noexcept {
    return counters_->inserts.load(std::memory_order_relaxed);
  }

  // Writes where a key may be, field by field: to copy a CellAddress that was just written takes
  // longer than to compute it (`build/release/bin/steps_bench`).
  void locate(const Hash128& hash, CellAddress& address) const noexcept {
    const auto scaled = [&](std::uint64_t word) {
      return static_cast<std::size_t>(u128{word} * buckets_.size() >> 64);
    };
    // The high bits of both words select the buckets; the low halves are the tag.
    const Tag tag = (hash.lo << 32 | (hash.hi & 0xffffffff)) & ~claim_mark;
    const std::size_t first = scaled(hash.lo);
    const std::size_t second = scaled(hash.hi);
    address.hash.lo = hash.lo;
    address.hash.hi = hash.hi;
    address.tag = tag == 0 ? 2 : tag;
    address.first = first;
    address.second = second != first ? second : first + 1 == buckets_.size() ? 0 : first + 1;
    address.seen = nowhere;
  }

  // Prefetches a key's first bucket. Most keys are in it, so the second bucket is not prefetched
  // here: in a large batch its lines would displace the first buckets of later keys
  // (`build/release/bin/compare_table`).
  void prefetch(const CellAddress& address) const noexcept { prefetch(address.first); }
  // Searches the first bucket, and prefetches the second one if the key is not there.
  void prefetch_rest(CellAddress& address) const noexcept {
    address.seen = search(address.first, address.tag);
    if (address.seen == nowhere) prefetch(address.second);
  }

  // The most frequent operation: a spend by a key that is in this table and has enough units.
  // Applies it, writes `answer` and returns true; in every other case does nothing and returns
  // false.
  [[nodiscard, gnu::always_inline]] bool spend(const CellAddress& address, const Law& law,
                                               std::uint64_t cost, Instant now,
                                               limit::Decision& answer) const noexcept {
    Cell* cell = find(address);
    if (cell == nullptr) return false;
    const Seen seen = cell->read();
    if (seen.tag_word != address.tag || seen.evicted() || !seen.fits(law)) return false;
    const auto at = law.ticks(now);
    State tat = seen.state_for(law);
    if (!law.spends(tat, cost, at) || !cell->update(seen, tat, law)) return false;
    law.admit(tat, at, answer);
    return true;
  }

  // Changes a key's state once, atomically. `step(std::optional<State>)` returns a limit::Step and
  // may be called several times. If the key is not in this table, `source.full_at()` returns what
  // its state starts from, if anything, and `source.moved()` is called after it has got a cell.
  template <class StepFunction, class MigrationSource>
  limit::Decision transact(const CellAddress& address, const Law& law, Instant now,
                           StepFunction step, MigrationSource source) noexcept {
    for (int patience = patience_at_first;; --patience) {
      if (Cell* cell = find(address)) {
        const Seen seen = cell->read();
        if (seen.tag_word != address.tag) continue;
        if (seen.evicted() || (!seen.fits(law) && seen.full_at() <= now.ns)) {
          cell->clear(seen);  // its quota is full: insert it again, in this law's ticks
          continue;
        }
        const auto next = step(std::optional<State>(seen.state_for(law)));
        if (next.changed ? cell->update(seen, next.state, law) : cell->holds(seen)) {
          return next.decision;
        }
      } else {
        std::optional<State> inherited;
        if (const auto full_at = source.full_at()) inherited = law.state_from(*full_at);
        const auto next = step(inherited);
        if (!next.changed) return next.decision;
        const Inserted inserted = insert(address, law, next.state, now, patience);
        if (inserted == Inserted::kept) source.moved();
        if (inserted != Inserted::raced) return next.decision;
      }
    }
  }

  // A key's state, without synchronisation; std::nullopt if the key is not in this table. The
  // halves of a wide cell's state may be of two different moments.
  [[nodiscard]] std::optional<State> read_state(const CellAddress& address,
                                                const Law& law) const noexcept {
    const std::optional<Seen> seen = read(address);
    if (!seen) return std::nullopt;
    return seen->state_for(law);
  }

  // When a key's quota is full again [ns]; std::nullopt if the key is not in this table.
  [[nodiscard]] std::optional<Nanos> full_at(const CellAddress& address) const noexcept {
    const std::optional<Seen> seen = read(address);
    if (!seen) return std::nullopt;
    return seen->full_at();
  }

  // Removes a key, unless another request changes it at the same time.
  void remove(const CellAddress& address) noexcept {
    if (Cell* cell = find(address)) {
      const Seen seen = cell->read();
      if (seen.tag_word == address.tag) cell->clear(seen);
    }
  }

  // The number of keys without a full quota: counted in `sample` buckets at equal distances and
  // scaled up to the table. Exact if the table has at most that many buckets.
  [[nodiscard]] std::uint64_t live(Instant now, std::size_t sample) const noexcept {
    const std::size_t count = std::min(sample, buckets_.size());
    std::uint64_t found = 0;
    for (std::size_t i = 0; i < count; ++i) {
      for (const Cell& cell : buckets_[buckets_.size() * i / count].cells) {
        const Seen seen = cell.read();
        if (!seen.empty() && !seen.claimed() && seen.full_at() > now.ns) ++found;
      }
    }
    return count == 0 ? 0 : found * buckets_.size() / count;
  }

 private:
  // How often a claimer withdraws for an earlier claim before it removes that claim. A claim is
  // confirmed within two cache misses; 64 rounds with a pause each are several microseconds. If the
  // other process was only stopped, it loses its claim and starts over: no harm but time.
  static constexpr int patience_at_first = 64;

  void prefetch(std::size_t bucket) const noexcept {
    constexpr std::size_t cells_a_line = 64 / sizeof(Cell);
    for (std::size_t cell = 0; cell < 4; cell += cells_a_line) {
      __builtin_prefetch(&buckets_[bucket].cells[cell], 1, 3);
    }
  }

  [[nodiscard]] static std::array<std::size_t, 2> homes(const CellAddress& address) noexcept {
    return {address.first, address.second};
  }

  // Which cell of a bucket has this tag, or `nowhere`. Compares all four before it branches,
  // because the position of a key cannot be predicted (`build/release/bin/steps_bench`).
  [[nodiscard]] unsigned search(std::size_t bucket, Tag tag) const noexcept {
    const std::array<Cell, 4>& cells = buckets_[bucket].cells;
    unsigned found = 1u << nowhere;
#pragma GCC unroll 4
    for (unsigned i = 0; i < 4; ++i) {
      found |= static_cast<unsigned>(cells[i].tag_word() == tag) << i;
    }
    return static_cast<unsigned>(std::countr_zero(found));
  }

  [[nodiscard]] Cell* find(std::size_t bucket, Tag tag) const noexcept {
    const unsigned cell = search(bucket, tag);
    return cell == nowhere ? nullptr : &buckets_[bucket].cells[cell];
  }
  [[nodiscard]] Cell* find(const CellAddress& address) const noexcept {
    if (address.seen != nowhere) {
      Cell& cell = buckets_[address.first].cells[address.seen];
      if (cell.tag_word() == address.tag) return &cell;
    }
    if (Cell* cell = find(address.first, address.tag)) return cell;
    return find(address.second, address.tag);
  }

  // The content of a key's cell; std::nullopt if the key is not in this table.
  [[nodiscard]] std::optional<Seen> read(const CellAddress& address) const noexcept {
    const Cell* cell = find(address);
    if (cell == nullptr) return std::nullopt;
    const Seen seen = cell->read();
    if (seen.tag_word != address.tag || seen.evicted()) return std::nullopt;
    return seen;
  }

  struct Victim {
    Cell* cell = nullptr;
    Seen seen;
    bool live = false;
  };

  // The cell to take for a new key, in the order of "Evicting" above.
  [[nodiscard]] Victim choose(const CellAddress& address, Instant now) const noexcept {
    struct Best {
      Victim victim;
      Nanos full_at = 0;
      int rank = 3;  // 0: empty or with a full quota, 1: claimed, 2: live, 3: none found yet
      int free = 0;
    };
    std::array<Best, 2> best;
    for (int side = 0; side < 2; ++side) {
      for (Cell& cell : buckets_[homes(address)[side]].cells) {
        const Seen seen = cell.read();
        const Nanos full_at = seen.empty()     ? std::numeric_limits<std::int64_t>::min()
                              : seen.claimed() ? 0
                                               : seen.full_at();
        const int rank = seen.empty() ? 0 : seen.claimed() ? 1 : full_at <= now.ns ? 0 : 2;
        Best& mine = best[side];
        if (rank == 0) ++mine.free;
        if (rank < mine.rank || (rank == mine.rank && full_at < mine.full_at)) {
          mine.victim = {&cell, seen, rank == 2};
          mine.full_at = full_at;
          mine.rank = rank;
        }
      }
    }
    // The first bucket if at least three of its cells are free, so that most keys are found in it;
    // else the emptier one, so that both fill evenly; else the one with the better victim.
    const bool second = best[0].free > 2               ? false
                        : best[1].free != best[0].free ? best[1].free > best[0].free
                        : best[1].rank != best[0].rank ? best[1].rank < best[0].rank
                                                       : best[1].full_at < best[0].full_at;
    return best[second ? 1 : 0].victim;
  }

  enum class Inserted { kept, unkept, raced };

  Inserted insert(const CellAddress& address, const Law& law, State state, Instant now,
                  int patience) noexcept {
    const Victim victim = choose(address, now);
    if (victim.live && Cell::full_at(state, law) <= victim.seen.full_at()) {
      counters_->unkept.fetch_add(1, std::memory_order_relaxed);
      return Inserted::unkept;
    }
    const std::uint64_t nonce = claim_nonce();
    if (!victim.cell->claim(victim.seen, address.tag, nonce)) return Inserted::raced;
    if (victim.live) counters_->evictions.fetch_add(1, std::memory_order_relaxed);
    if (!alone(address, *victim.cell, patience)) {
      victim.cell->withdraw(address.tag, nonce);
      return Inserted::raced;
    }
    if (!victim.cell->confirm(address.tag, nonce, state, law)) return Inserted::raced;
    counters_->inserts.fetch_add(1, std::memory_order_relaxed);
    return Inserted::kept;
  }

  // Whether `mine` is the only cell that this key holds or claims. Removes later claims, and
  // earlier ones once `patience` is used up.
  bool alone(const CellAddress& address, const Cell& mine, int patience) noexcept {
    const Tag tag = address.tag;
    bool before_mine = true;
    for (const std::size_t bucket : homes(address)) {
      for (Cell& cell : buckets_[bucket].cells) {
        if (&cell == &mine) {
          before_mine = false;
          continue;
        }
        if ((cell.tag_word() & ~claim_mark) != tag) continue;
        const Seen seen = cell.read();
        if ((seen.tag_word & ~claim_mark) != tag) continue;
        if (!seen.claimed()) {
          if (!seen.evicted()) return false;
          cell.clear(seen);
          continue;
        }
        if (before_mine && patience > 0) {
          _mm_pause();
          return false;
        }
        // If its claimer confirms it first, clear() fails and the claimer has won.
        if (!cell.clear(seen)) return false;
      }
    }
    return true;
  }

  std::span<Bucket<Cell>> buckets_;
  CellTableCounters* counters_ = nullptr;
};

}  // namespace headgate::store
