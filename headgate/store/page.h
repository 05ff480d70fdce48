// One page of the ledger: the states of some keys, and the lock that guards them.
//
// An entry is a key's tag, the moment when its state says nothing any more, and 24 bytes that only
// its law can read. Keys are found by linear probing over a few entries; an entry whose moment has
// come is free. States with many records keep them in a chain of blocks of the same page.
//
// Whoever holds the lock writes down the one entry that it is about to change, before it changes
// it. If it dies, the next holder puts that entry back: a step is made whole or not at all. Blocks
// are written where no entry points yet, and freed when no entry points there any more. The bytes
// are described in docs/table-format.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "headgate/base/instant.h"
#include "headgate/limit/log.h"
#include "headgate/store/healing_lock.h"

namespace headgate::store {

// 56 bits of a key's hash, never 0, and in the low byte the kind of state that the law keeps.
using EntryTag = std::uint64_t;

struct Entry {
  static constexpr std::size_t state_bytes = 24;

  // The last moment that full_at can name: for all later ones, too.
  static constexpr std::int64_t end_of_time = std::numeric_limits<std::int64_t>::max();

  // Whether it says nothing any more.
  [[nodiscard]] bool spent(Instant now) const noexcept {
    return full_at <= now.ns && full_at != end_of_time;
  }

  std::int64_t full_at;  // [ns], the table's time
  alignas(8) std::byte state[state_bytes];
};
static_assert(sizeof(Entry) == 32);

// A piece of a log.
struct Block {
  static constexpr std::uint32_t records_max = 7;

  EntryTag owner;
  std::uint32_t next;   // blocks are named by index + 1; 0 is none
  std::uint32_t entry;  // of the owner
  limit::Record records[records_max];
};
static_assert(sizeof(Block) == 128);

// What an entry with a log holds.
struct LogState {
  std::uint32_t head = 0;   // the block of the oldest record
  std::uint32_t tail = 0;   // the block of the newest record
  std::uint32_t first = 0;  // where in `head` the oldest record is
  std::uint32_t size = 0;   // records
  std::uint64_t units = 0;  // sum of their costs
};
static_assert(sizeof(LogState) == Entry::state_bytes);

struct alignas(64) PageHead {
  static constexpr std::uint32_t nothing = 0;

  HealingLock lock;
  std::uint32_t undo_entry;  // index + 1 of the entry that is being changed, or `nothing`
  std::uint32_t rover;       // where the search for a free block goes on
  EntryTag undo_tag;
  Entry undo;
};
static_assert(sizeof(PageHead) == 128);

// A view of a page's arrays. Everything but lock() needs the lock.
class Page {
 public:
  static constexpr std::uint32_t probes = 32;  // entries that a key may be in
  static constexpr std::uint32_t none = 0xffffffff;

  // Bytes of a page of so many entries and blocks; a multiple of 64.
  [[nodiscard]] static std::size_t bytes(std::uint32_t entries, std::uint32_t blocks) noexcept;

  Page(std::byte* at, std::uint32_t entries, std::uint32_t blocks) noexcept;

  void lock() const noexcept {
    head_->lock.lock([this] { heal(); });
  }
  void unlock() const noexcept { head_->lock.unlock(); }
  void make_lock() const noexcept { head_->lock.make(); }
  // Puts back what a holder left half done.
  void heal() const noexcept;

  // Asks from memory ahead of use.
  void prefetch(std::uint32_t home) const noexcept {
    __builtin_prefetch(head_, 1, 3);
    __builtin_prefetch(&tags_[home], 1, 3);
    __builtin_prefetch(&entries_[home], 1, 3);
  }

  // The entry of a key, or `none`.
  [[nodiscard]] std::uint32_t find(EntryTag tag, std::uint32_t home) const noexcept;
  // The best entry for a new key: an empty or spent one, else the one that is spent first.
  [[nodiscard]] std::uint32_t choose(std::uint32_t home, Instant now) const noexcept;

  [[nodiscard]] const Entry& entry(std::uint32_t at) const noexcept { return entries_[at]; }
  [[nodiscard]] EntryTag tag(std::uint32_t at) const noexcept { return tags_[at]; }
  [[nodiscard]] std::span<const EntryTag> tags() const noexcept { return {tags_, entry_count_}; }

  // From begin() to commit() an entry may be changed in any order. Frees what the log that was
  // there before does not share with the one that is there now.
  void begin(std::uint32_t at) const noexcept;
  void write(std::uint32_t at, EntryTag tag, const Entry& entry) const noexcept;
  void commit(std::uint32_t at) const noexcept;

  // A block for the owner of an entry, or 0 if all are in use.
  [[nodiscard]] std::uint32_t take_block(EntryTag owner, std::uint32_t entry,
                                         Instant now) const noexcept;
  [[nodiscard]] bool owns(EntryTag owner, std::uint32_t name) const noexcept {
    return name != 0 && name <= block_count_ && block(name).owner == owner;
  }
  [[nodiscard]] Block& block(std::uint32_t name) const noexcept { return blocks_[name - 1]; }
  // The block after this one, if there is one and it is still the owner's.
  [[nodiscard]] std::uint32_t next(std::uint32_t name) const noexcept;
  // Frees an owner's blocks from one on until another one, or until the chain's end.
  void give_chain(EntryTag owner, std::uint32_t from, std::uint32_t until) const noexcept;

 private:
  void give_block(std::uint32_t name) const noexcept;
  [[nodiscard]] bool reclaim(std::uint32_t name, Instant now) const noexcept;

  PageHead* head_;
  EntryTag* tags_;
  Entry* entries_;
  std::uint8_t* used_;  // a byte a block: 1 while it is some log's
  Block* blocks_;
  std::uint32_t entry_count_;
  std::uint32_t block_count_;
};

// Whether entries of this tag hold a LogState.
inline constexpr EntryTag log_kind = 0x80;
[[nodiscard]] constexpr bool has_log(EntryTag tag) noexcept { return (tag & log_kind) != 0; }

}  // namespace headgate::store
