#include "headgate/store/page.h"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace headgate::store {
namespace {

constexpr std::size_t aligned(std::size_t bytes) noexcept { return (bytes + 63) / 64 * 64; }

// Keeps the compiler from moving writes across this point. If a process is killed, its writes
// before this point are visible whenever one after it is.
void in_order() noexcept { std::atomic_signal_fence(std::memory_order_release); }

LogState log_of(const Entry& entry) noexcept {
  LogState log;
  std::memcpy(&log, entry.state, sizeof log);
  return log;
}

}  // namespace

std::size_t Page::bytes(std::uint32_t entries, std::uint32_t blocks) noexcept {
  return sizeof(PageHead) + aligned(entries * sizeof(EntryTag)) + aligned(entries * sizeof(Entry)) +
         aligned(blocks) + blocks * sizeof(Block);
}

Page::Page(std::byte* at, std::uint32_t entries, std::uint32_t blocks) noexcept
    : head_(reinterpret_cast<PageHead*>(at)), entry_count_(entries), block_count_(blocks) {
  at += sizeof(PageHead);
  tags_ = reinterpret_cast<EntryTag*>(at);
  at += aligned(entries * sizeof(EntryTag));
  entries_ = reinterpret_cast<Entry*>(at);
  at += aligned(entries * sizeof(Entry));
  used_ = reinterpret_cast<std::uint8_t*>(at);
  at += aligned(blocks);
  blocks_ = reinterpret_cast<Block*>(at);
}

std::uint32_t Page::find(EntryTag tag, std::uint32_t home) const noexcept {
  for (std::uint32_t i = 0, at = home; i < probes; ++i) {
    if (tags_[at] == tag) return at;
    if (++at == entry_count_) at = 0;
  }
  return none;
}

std::uint32_t Page::choose(std::uint32_t home, Instant now) const noexcept {
  std::uint32_t best = none;
  Nanos least = now.ns;
  for (std::uint32_t i = 0, at = home; i < probes; ++i) {
    if (tags_[at] == 0) return at;
    if (const Nanos until = entries_[at].kept_until(); until <= least) {
      best = at;
      least = until;
    }
    if (++at == entry_count_) at = 0;
  }
  return best;
}

void Page::begin(std::uint32_t at) const noexcept {
  head_->undo_tag = tags_[at];
  head_->undo = entries_[at];
  in_order();
  head_->undo_entry = at + 1;
  in_order();
}

void Page::write(std::uint32_t at, EntryTag tag, const Entry& entry) const noexcept {
  entries_[at] = entry;
  tags_[at] = tag;
}

void Page::commit(std::uint32_t at) const noexcept {
  in_order();
  head_->undo_entry = PageHead::nothing;
  in_order();
  if (!has_log(head_->undo_tag)) return;
  const LogState before = log_of(head_->undo);
  const LogState after = tags_[at] == head_->undo_tag ? log_of(entries_[at]) : LogState{};
  if (before.head != after.head) free_chain(head_->undo_tag, before.head, after.head);
}

void Page::heal() const noexcept {
  const std::uint32_t changing = head_->undo_entry;
  if (changing == PageHead::nothing || changing > entry_count_) {
    head_->undo_entry = PageHead::nothing;
    return;
  }
  const std::uint32_t at = changing - 1;
  Entry entry = head_->undo;
  if (has_log(head_->undo_tag)) {
    // The dead holder may have changed records in place: computes the sum of their costs again.
    LogState log = log_of(entry);
    std::uint64_t units = 0;
    std::uint32_t name = log.head;
    std::uint32_t position = log.first;
    std::uint32_t size = 0;
    while (size < log.size && owns(head_->undo_tag, name)) {
      if (position >= Block::records_max) {
        position -= Block::records_max;
        log.tail = name = next(name);
        continue;
      }
      const std::uint64_t cost = block(name).records[position++].cost;
      units += std::min(cost, ~std::uint64_t{0} - units);
      ++size;
    }
    log.size = size;
    log.units = units;
    std::memcpy(entry.state, &log, sizeof log);
  }
  write(at, head_->undo_tag, entry);
  in_order();
  head_->undo_entry = PageHead::nothing;
}

std::uint32_t Page::next(std::uint32_t name) const noexcept {
  const std::uint32_t after = block(name).next;
  return owns(block(name).owner, after) ? after : 0;
}

std::uint32_t Page::take_block(EntryTag owner, std::uint32_t entry, Instant now) const noexcept {
  // If no block is free, tests this many for an owner that no longer needs it. Each is a cache
  // miss, so 64 are some microseconds; the next call continues after them.
  constexpr std::uint32_t reclaims_max = 64;
  if (block_count_ == 0) return 0;
  std::uint32_t at = head_->rover < block_count_ ? head_->rover : 0;
  const auto* free =
      static_cast<const std::uint8_t*>(std::memchr(used_ + at, 0, block_count_ - at));
  if (free == nullptr) free = static_cast<const std::uint8_t*>(std::memchr(used_, 0, at));
  std::uint32_t name = 0;
  if (free != nullptr) {
    name = static_cast<std::uint32_t>(free - used_) + 1;
  } else {
    for (std::uint32_t i = 0; name == 0 && i < std::min(reclaims_max, block_count_); ++i) {
      if (is_abandoned(at + 1, now)) name = at + 1;
      if (++at == block_count_) at = 0;
    }
    if (name == 0) {
      head_->rover = at;
      return 0;
    }
  }
  head_->rover = name == block_count_ ? 0 : name;
  block(name).owner = owner;
  block(name).next = 0;
  block(name).entry = entry;
  in_order();
  used_[name - 1] = 1;
  return name;
}

// Whether this block is not needed any more, because its owner's entry is gone or expired.
bool Page::is_abandoned(std::uint32_t name, Instant now) const noexcept {
  const std::uint32_t entry = block(name).entry;
  return entry >= entry_count_ || tags_[entry] != block(name).owner || entries_[entry].expired(now);
}

void Page::free_block(std::uint32_t name) const noexcept {
  block(name).owner = 0;
  in_order();
  used_[name - 1] = 0;
}

void Page::free_chain(EntryTag owner, std::uint32_t from, std::uint32_t until) const noexcept {
  for (std::uint32_t name = from; name != until && owns(owner, name);) {
    const std::uint32_t after = next(name);
    free_block(name);
    name = after;
  }
}

}  // namespace headgate::store
