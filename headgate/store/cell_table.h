// A hash table of cells of one kind. A key may be in two buckets of four cells each, in any of the
// cells. Buckets are not linked. In a table that has grown, a key may be in two buckets of each
// segment; below, "both buckets" are all of these.
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
// cells, and no request waits for another one. The search also reads again how many segments there
// are. So of two claimers the one that does not know the newest segment yet sees the other one, or
// is seen by it.
//
// Evicting. A new key gets an empty cell, or else the cell of a key whose quota has been full for
// at least a window: that state is no longer needed, whatever policy it belongs to, and even a slow
// client has been away for longer than its window. All other keys are live and keep their cells,
// however many new keys come. A new key takes a cell of the newest segment that has one. If all
// cells are live, the new key is not kept: its charges go to the sketch (sketch.h). When such a key
// gets a cell later, its state begins with its debt there; while that debt denies it, it stays in
// the sketch.
//
// A charge that goes to the sketch and the insertion of the same key notice each other: one
// adds to the sketch and then searches for the key, the other claims a cell and then reads the
// sketch.
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
#include "headgate/store/segment.h"
#include "headgate/store/sketch.h"

namespace headgate::store {

// Where a key may be in a cell table, and the tag by which it is recognised there.
struct CellAddress {
  Hash128 hash;
  Tag tag;
  std::size_t first;  // the key's first bucket in the newest segment [bytes from the table's begin]
  std::size_t second;
  unsigned seen;  // the cell of the first bucket that prefetch_rest() found, or `nowhere`
};
inline constexpr unsigned nowhere = 4;  // one more than the last cell of a bucket

template <class Cell>
struct alignas(64) Bucket {
  std::array<Cell, 4> cells;
};

static_assert(sizeof(Bucket<NarrowCell>) == Segment::narrow_bucket_bytes &&
              sizeof(Bucket<WideCell>) == Segment::wide_bucket_bytes);

template <class Cell>
class CellTable {
 public:
  using Law = typename Cell::Law;
  using State = typename Cell::State;
  using Seen = typename Cell::Seen;

  CellTable() = default;
  // `begin`, the table's first byte, its `segments` and `inserts`, the number of keys that have got
  // a cell, are the caller's, shared with other processes. REQUIRES: at least one segment; the
  // buckets are zeroed or contain cells of this kind.
  CellTable(std::byte* begin, const KnownSegments& segments,
            std::atomic<std::uint64_t>& inserts) noexcept
      : begin_(begin), segments_(&segments), inserts_(&inserts) {}

  [[nodiscard]] std::size_t cells() const noexcept {
    std::size_t sum = 0;
    for (const Segment& segment : segments_->present()) sum += buckets_of(segment).count * 4;
    return sum;
  }
  [[nodiscard]] std::uint64_t inserts() const noexcept {
    return inserts_->load(std::memory_order_relaxed);
  }

  // Writes where a key may be, field by field: to copy a CellAddress that was just written takes
  // longer than to compute it (`build/release/bin/steps_bench`).
  void locate(const Hash128& hash, limit::SpanClass window_class,
              CellAddress& address) const noexcept {
    // The high bits of both words select the buckets; the low halves are the tag.
    const Tag tag = (hash.lo << 32 | (hash.hi & 0xffffffff)) & ~(claim_mark | class_mask);
    const Homes homes = homes_in(segments_->newest(), hash);
    address.hash.lo = hash.lo;
    address.hash.hi = hash.hi;
    address.tag = (tag == 0 ? claim_mark << 1 : tag) | window_class;
    address.first = homes[0];
    address.second = homes[1];
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
    Cell* cell = find_as_is(address);
    if (cell == nullptr) return false;
    const Seen seen = cell->read();
    if (seen.tag_word != address.tag || seen.evicted() || !seen.fits(law)) return false;
    const auto at = law.ticks(now);
    State tat = seen.state_for(law);
    if (!law.spends(tat, cost, at) || !cell->update(seen, address.tag, tat, law)) return false;
    law.admit(tat, at, answer);
    return true;
  }

  // Changes a key's state once, atomically. `step(std::optional<State>)` returns a limit::Step and
  // may be called several times. If the key is not in this table, `source.full_at()` returns what
  // its state starts from, if anything, and `source.moved()` is called after it has got a cell. If
  // it gets none, `unkept` decides (unkept.h).
  template <class StepFunction, class MigrationSource, class Unkept>
  limit::Decision transact(const CellAddress& address, const Law& law, Instant now,
                           StepFunction step, MigrationSource source, Unkept unkept) noexcept {
    for (int patience = patience_at_first;; --patience) {
      if (Cell* cell = find(address)) {
        const Seen seen = cell->read();
        if (!same_key(seen.tag_word, address.tag)) continue;
        if (seen.evicted() || (!seen.fits(law) && seen.full_at() <= now.ns)) {
          cell->clear(seen);  // its quota is full: insert it again, in this law's ticks
          continue;
        }
        const auto next = step(std::optional<State>(seen.state_for(law)));
        if (next.changed ? cell->update(seen, address.tag, next.state, law) : cell->holds(seen)) {
          return next.decision;
        }
        continue;
      }
      const std::optional<Nanos> former = source.full_at();
      const bool busy = unkept.busy();
      // Units that a key without a state took are in the sketch.
      if (busy && unkept.refunds() && !former) return unkept.decide().decision;
      const std::optional<Nanos> owed = unkept.owed_until();
      std::optional<State> inherited;
      if (former || owed) inherited = law.state_from(std::max(former, owed).value());
      const auto next = step(inherited);
      if (!next.changed && !busy) return next.decision;
      const std::optional<Victim> victim = choose(address, now);
      if (!victim || (owed && !next.decision.admitted)) {
        const Sketch::Decided decided = unkept.decide(former);
        if (!decided.took || !holds_or_claims(address)) return decided.decision;
        continue;  // another request inserts the key
      }
      if (!next.changed) return next.decision;
      const std::uint64_t nonce = claim_nonce();
      if (!victim->cell->claim(victim->seen, address.tag, nonce)) continue;
      if (!alone(address, *victim->cell, patience) || unkept.owed_until() != owed) {
        victim->cell->withdraw(address.tag, nonce);
        continue;
      }
      if (!victim->cell->confirm(address.tag, nonce, next.state, law)) continue;
      inserts_->fetch_add(1, std::memory_order_relaxed);
      source.moved();
      return next.decision;
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
      if (same_key(seen.tag_word, address.tag)) cell->clear(seen);
    }
  }

  // The number of live keys: counted in `sample` buckets of each segment, at equal distances, and
  // scaled up. Exact if a segment has at most that many buckets.
  [[nodiscard]] std::uint64_t live(Instant now, std::size_t sample) const noexcept {
    std::uint64_t live = 0;
    for (const Segment& segment : segments_->present()) {
      const PartRange buckets = buckets_of(segment);
      const std::size_t count = std::min(sample, buckets.count);
      std::uint64_t found = 0;
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t at = buckets.at + buckets.count * i / count * sizeof(Bucket<Cell>);
        for (const Cell& cell : bucket(at).cells) {
          if (rank(cell.read(), now) == Rank::live) ++found;
        }
      }
      live += found * buckets.count / count;
    }
    return live;
  }

 private:
  // How often a claimer withdraws for an earlier claim before it removes that claim. A claim is
  // confirmed within two cache misses; 64 rounds with a pause each are several microseconds. If the
  // other process was only stopped, it loses its claim and starts over: no harm but time.
  static constexpr int patience_at_first = 64;

  [[nodiscard]] static PartRange buckets_of(const Segment& segment) noexcept {
    if constexpr (std::is_same_v<Cell, NarrowCell>) {
      return segment.narrow();
    } else {
      return segment.wide();
    }
  }
  [[nodiscard]] Bucket<Cell>& bucket(std::size_t at) const noexcept {
    return *reinterpret_cast<Bucket<Cell>*>(begin_ + at);
  }

  void prefetch(std::size_t at) const noexcept {
    constexpr std::size_t cells_a_line = 64 / sizeof(Cell);
    for (std::size_t cell = 0; cell < 4; cell += cells_a_line) {
      __builtin_prefetch(&bucket(at).cells[cell], 1, 3);
    }
  }

  // A key's two buckets in a segment [bytes from the table's begin].
  using Homes = std::array<std::size_t, 2>;
  [[nodiscard]] static Homes homes_in(const Segment& segment, const Hash128& hash) noexcept {
    const PartRange buckets = buckets_of(segment);
    const auto scaled = [&](std::uint64_t word) {
      return static_cast<std::size_t>(u128{word} * buckets.count >> 64);
    };
    const std::size_t first = scaled(hash.lo);
    const std::size_t second = scaled(hash.hi);
    const std::size_t other = second != first ? second : first + 1 == buckets.count ? 0 : first + 1;
    return {buckets.at + first * sizeof(Bucket<Cell>), buckets.at + other * sizeof(Bucket<Cell>)};
  }

  // Which cell of a bucket has a tag word that `matches`, or `nowhere`. Compares all four before it
  // branches, because the position of a key cannot be predicted (`build/release/bin/steps_bench`).
  template <class Matches>
  [[nodiscard]] unsigned search(std::size_t at, Matches matches) const noexcept {
    const std::array<Cell, 4>& cells = bucket(at).cells;
    unsigned found = 1u << nowhere;
#pragma GCC unroll 4
    for (unsigned i = 0; i < 4; ++i) {
      found |= static_cast<unsigned>(matches(cells[i].tag_word())) << i;
    }
    return static_cast<unsigned>(std::countr_zero(found));
  }
  [[nodiscard]] unsigned search(std::size_t at, Tag tag) const noexcept {
    return search(at, [tag](std::uint64_t word) { return word == tag; });
  }

  template <class Wanted>
  [[nodiscard]] Cell* find(std::size_t at, Wanted wanted) const noexcept {
    const unsigned cell = search(at, wanted);
    return cell == nowhere ? nullptr : &bucket(at).cells[cell];
  }
  // The first cell in all of a key's buckets that is `wanted`.
  template <class Wanted>
  [[nodiscard]] Cell* find_anywhere(const CellAddress& address, Wanted wanted) const noexcept {
    for (const Segment& segment : segments_->present()) {
      for (const std::size_t home : homes_in(segment, address.hash)) {
        if (Cell* cell = find(home, wanted)) return cell;
      }
    }
    return nullptr;
  }
  // A key's cell in the segment that was the newest one, if the class of the window in its tag word
  // is that of the address.
  [[nodiscard]] Cell* find_as_is(const CellAddress& address) const noexcept {
    if (address.seen != nowhere) {
      Cell& cell = bucket(address.first).cells[address.seen];
      if (cell.tag_word() == address.tag) return &cell;
    }
    if (Cell* cell = find(address.first, address.tag)) return cell;
    return find(address.second, address.tag);
  }
  // A key's cell. The policy's window may have been another one when the key was last charged.
  [[nodiscard]] Cell* find(const CellAddress& address) const noexcept {
    if (Cell* cell = find_as_is(address)) return cell;
    return find_anywhere(address, [&](std::uint64_t word) { return same_key(word, address.tag); });
  }
  // Whether a key has a cell or is about to get one.
  [[nodiscard]] bool holds_or_claims(const CellAddress& address) const noexcept {
    return find_anywhere(address, [&](std::uint64_t word) { return of_key(word, address.tag); }) !=
           nullptr;
  }

  // The content of a key's cell; std::nullopt if the key is not in this table.
  [[nodiscard]] std::optional<Seen> read(const CellAddress& address) const noexcept {
    const Cell* cell = find(address);
    if (cell == nullptr) return std::nullopt;
    const Seen seen = cell->read();
    if (!same_key(seen.tag_word, address.tag) || seen.evicted()) return std::nullopt;
    return seen;
  }

  struct Victim {
    Cell* cell;
    Seen seen;
  };

  // Whether a tag word is of this key, claimed or not.
  [[nodiscard]] static bool of_key(std::uint64_t word, Tag tag) noexcept {
    return same_key(word & ~claim_mark, tag);
  }

  // What a new key may take, the best first.
  enum class Rank { free, claimed, live };
  [[nodiscard]] static Rank rank(const Seen& seen, Instant now) noexcept {
    if (seen.empty()) return Rank::free;
    if (seen.claimed()) return Rank::claimed;
    return kept_until(seen.tag_word, seen.full_at()) <= now.ns ? Rank::free : Rank::live;
  }

  // The cell to take for a new key, in the order of "Evicting" above; std::nullopt if all are live.
  // A claimed cell can be taken, because its process may be dead; so it comes last.
  [[nodiscard]] std::optional<Victim> choose(const CellAddress& address,
                                             Instant now) const noexcept {
    const std::span<const Segment> segments = segments_->present();
    std::optional<Victim> claimed;
    for (std::size_t i = segments.size(); i-- > 0;) {
      const std::optional<Victim> victim = choose(homes_in(segments[i], address.hash), now);
      if (victim && !victim->seen.claimed()) return victim;
      if (victim && !claimed) claimed = victim;
    }
    return claimed;
  }
  [[nodiscard]] std::optional<Victim> choose(const Homes& homes, Instant now) const noexcept {
    struct Best {
      Victim victim{};
      Nanos since = 0;  // when the cell became free
      Rank rank = Rank::live;
      int free = 0;
    };
    std::array<Best, 2> best;
    for (int side = 0; side < 2; ++side) {
      Best& mine = best[side];
      for (Cell& cell : bucket(homes[side]).cells) {
        const Seen seen = cell.read();
        const Rank found = rank(seen, now);
        if (found == Rank::live) continue;
        const Nanos since = seen.empty()     ? std::numeric_limits<std::int64_t>::min()
                            : seen.claimed() ? 0
                                             : kept_until(seen.tag_word, seen.full_at());
        if (found == Rank::free) ++mine.free;
        if (found < mine.rank || (found == mine.rank && since < mine.since)) {
          mine.victim = {&cell, seen};
          mine.since = since;
          mine.rank = found;
        }
      }
    }
    // The first bucket if at least three of its cells are free, so that most keys are found in it;
    // else the emptier one, so that both fill evenly; else the one with the better victim.
    const bool second = best[0].free > 2               ? false
                        : best[1].free != best[0].free ? best[1].free > best[0].free
                        : best[1].rank != best[0].rank ? best[1].rank < best[0].rank
                                                       : best[1].since < best[0].since;
    const Best& chosen = best[second ? 1 : 0];
    if (chosen.rank == Rank::live) return std::nullopt;
    return chosen.victim;
  }

  // Whether `mine` is the only cell that this key holds or claims. Removes later claims, and
  // earlier ones once `patience` is used up.
  bool alone(const CellAddress& address, const Cell& mine, int patience) noexcept {
    bool before_mine = true;
    for (const Segment& segment : segments_->present()) {
      for (const std::size_t home : homes_in(segment, address.hash)) {
        if (!alone(bucket(home), address, mine, patience, before_mine)) return false;
      }
    }
    return true;
  }
  // The same for one bucket. `before_mine`: whether `mine` is still to come; is updated.
  bool alone(Bucket<Cell>& bucket, const CellAddress& address, const Cell& mine, int patience,
             bool& before_mine) noexcept {
    for (Cell& cell : bucket.cells) {
      if (&cell == &mine) {
        before_mine = false;
        continue;
      }
      if (!of_key(cell.tag_word(), address.tag)) continue;
      const Seen seen = cell.read();
      if (!of_key(seen.tag_word, address.tag)) continue;
      if (!seen.claimed()) {
        if (!seen.evicted()) return false;
        cell.clear(seen);
        continue;
      }
      if (before_mine && patience > 0) {
        pause();
        return false;
      }
      // If its claimer confirms it first, clear() fails and the claimer has won.
      if (!cell.clear(seen)) return false;
    }
    return true;
  }

  std::byte* begin_ = nullptr;
  const KnownSegments* segments_ = nullptr;
  std::atomic<std::uint64_t>* inserts_ = nullptr;
};

}  // namespace headgate::store
