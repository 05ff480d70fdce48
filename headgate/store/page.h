// One page of the ledger: the states of some keys, and the lock that protects them.
//
// An entry is a key's tag, the moment from which on its state is not needed, and 24 bytes that only
// its law interprets. Keys are found by linear probing over 32 entries. A key keeps its entry for
// at least a window after that moment; then another key may take it. States with many records have
// them in a chain of blocks of the same page.
//
// Before a holder of the lock changes an entry, it saves the entry in the page's head. If it dies,
// the next holder restores that entry, so every change is made completely or not at all. Blocks are
// written before an entry points to them, and freed after no entry points to them any more. The
// bytes are described in docs/table-format.md.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "headgate/base/instant.h"
#include "headgate/limit/coarse.h"
#include "headgate/limit/log.h"
#include "headgate/store/healing_lock.h"

namespace headgate::store {

// 56 bits of a key's hash, never 0; the low byte is the kind of the law's state.
using EntryTag = std::uint64_t;

struct Entry {
  static constexpr std::size_t state_bytes = 24;

  // The `times` of states that are needed until this moment or longer: such an entry never expires.
  static constexpr std::int64_t end_of_time = std::numeric_limits<std::int64_t>::max();
  static constexpr std::int64_t class_mask = (1 << limit::span_class_bits) - 1;

  // The `times` of a state whose quota is full at `full_at` [ns, the table's time].
  [[nodiscard]] static std::int64_t times_of(Nanos full_at, limit::SpanClass window) noexcept {
    constexpr Nanos earliest = std::numeric_limits<std::int64_t>::min();
    if (full_at > end_of_time - 2 * class_mask) return end_of_time;
    const auto whole = static_cast<std::int64_t>(std::max(full_at, earliest)) + class_mask;
    return (whole & ~class_mask) | window;
  }

  // Until when the state counts [ns].
  [[nodiscard]] Nanos full_at() const noexcept {
    return times == end_of_time ? i128_max : times & ~class_mask;
  }
  // Whether the state is not needed any more.
  [[nodiscard]] bool expired(Instant now) const noexcept { return full_at() <= now.ns; }
  // Until when the key keeps its entry [ns].
  [[nodiscard]] Nanos kept_until() const noexcept {
    const Nanos grace = limit::longest_span(static_cast<unsigned>(times & class_mask));
    return times == end_of_time ? i128_max : full_at() + grace;
  }

  // When the quota is full again [ns, the table's time], rounded up to a multiple of 64, and in the
  // low 6 bits the class of the policy's window.
  std::int64_t times;
  alignas(8) std::byte state[state_bytes];
};
static_assert(sizeof(Entry) == 32);

// A piece of a log.
struct Block {
  static constexpr std::uint32_t records_max = 7;  // they fill two cache lines

  EntryTag owner;
  std::uint32_t next;   // the name of the next block: its index + 1; 0 if there is none
  std::uint32_t entry;  // the index of the owner's entry
  limit::Record records[records_max];
};
static_assert(sizeof(Block) == 128);

// The state in an entry with a log.
struct LogState {
  std::uint32_t head = 0;   // the block of the oldest record
  std::uint32_t tail = 0;   // the block of the newest record
  std::uint32_t first = 0;  // the position of the oldest record in `head`
  std::uint32_t size = 0;   // number of records
  std::uint64_t units = 0;  // sum of their costs
};
static_assert(sizeof(LogState) == Entry::state_bytes);

struct alignas(64) PageHead {
  static constexpr std::uint32_t nothing = 0;

  HealingLock lock;
  std::uint32_t undo_entry;  // index + 1 of the entry that is being changed, or `nothing`
  std::uint32_t rover;       // the block at which the next search for a free one starts
  EntryTag undo_tag;
  Entry undo;
};
static_assert(sizeof(PageHead) == 128);

// A view of a page's arrays. REQUIRES: for every function but lock(), make_lock() and prefetch(),
// the caller holds the lock.
class Page {
 public:
  // The number of entries in which a key may be. Their tags are 256 bytes, four cache lines.
  static constexpr std::uint32_t probes = 32;
  static constexpr std::uint32_t none = 0xffffffff;

  // The bytes of a page with these numbers of entries and blocks; a multiple of 64.
  [[nodiscard]] static std::size_t bytes(std::uint32_t entries, std::uint32_t blocks) noexcept;

  Page(std::byte* at, std::uint32_t entries, std::uint32_t blocks) noexcept;

  void lock() const noexcept {
    head_->lock.lock([this] { heal(); });
  }
  void unlock() const noexcept { head_->lock.unlock(); }
  void make_lock() const noexcept { head_->lock.make(); }
  // Undoes the unfinished change of a holder that died.
  void heal() const noexcept;

  void prefetch(std::uint32_t home) const noexcept {
    __builtin_prefetch(head_, 1, 3);
    __builtin_prefetch(&tags_[home], 1, 3);
    __builtin_prefetch(&entries_[home], 1, 3);
  }

  // The index of a key's entry, or `none`.
  [[nodiscard]] std::uint32_t find(EntryTag tag, std::uint32_t home) const noexcept;
  // The best entry for a new key: an empty one, or else the one that is no longer kept for its key
  // for the longest time; `none` if all are kept.
  [[nodiscard]] std::uint32_t choose(std::uint32_t home, Instant now) const noexcept;

  [[nodiscard]] const Entry& entry(std::uint32_t at) const noexcept { return entries_[at]; }
  [[nodiscard]] EntryTag tag(std::uint32_t at) const noexcept { return tags_[at]; }
  [[nodiscard]] std::span<const EntryTag> tags() const noexcept { return {tags_, entry_count_}; }

  // Between begin() and commit() an entry may be changed in any order. commit() frees the blocks of
  // the former log that are not part of the new one.
  void begin(std::uint32_t at) const noexcept;
  void write(std::uint32_t at, EntryTag tag, const Entry& entry) const noexcept;
  void commit(std::uint32_t at) const noexcept;

  // Allocates a block for the owner of an entry and returns its name; 0 if all are in use.
  [[nodiscard]] std::uint32_t take_block(EntryTag owner, std::uint32_t entry,
                                         Instant now) const noexcept;
  [[nodiscard]] bool owns(EntryTag owner, std::uint32_t name) const noexcept {
    return name != 0 && name <= block_count_ && block(name).owner == owner;
  }
  // The most records that a log of this page can have.
  [[nodiscard]] std::size_t records_max() const noexcept {
    return std::size_t{block_count_} * Block::records_max;
  }
  [[nodiscard]] Block& block(std::uint32_t name) const noexcept { return blocks_[name - 1]; }
  // The name of the block after this one; 0 if there is none that still has the same owner.
  [[nodiscard]] std::uint32_t next(std::uint32_t name) const noexcept;
  // Frees an owner's blocks from `from` on, up to but not including `until` or to the chain's end.
  void free_chain(EntryTag owner, std::uint32_t from, std::uint32_t until) const noexcept;

 private:
  void free_block(std::uint32_t name) const noexcept;
  [[nodiscard]] bool is_abandoned(std::uint32_t name, Instant now) const noexcept;

  PageHead* head_;
  EntryTag* tags_;
  Entry* entries_;
  std::uint8_t* used_;  // one byte per block: 1 while it is part of a log
  Block* blocks_;
  std::uint32_t entry_count_;
  std::uint32_t block_count_;
};

// The bit of a tag whose entry contains a LogState.
inline constexpr EntryTag log_kind = 0x80;
[[nodiscard]] constexpr bool has_log(EntryTag tag) noexcept { return (tag & log_kind) != 0; }

}  // namespace headgate::store
