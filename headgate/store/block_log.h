// A key's log in the blocks of its page: what limit/log.h asks of a log.
#pragma once

#include <cstdint>
#include <limits>

#include "headgate/store/page.h"

namespace headgate::store {

// Works on a copy of the entry's LogState, which state() gives back when all is done. Records are
// changed in address, so the entry must have been begun. Walking goes from the oldest record on;
// going back starts over, but both ends are at hand.
class BlockLog {
 public:
  BlockLog(const Page& page, EntryTag owner, std::uint32_t entry, const LogState& state,
           Instant now) noexcept
      : page_(page), owner_(owner), entry_(entry), state_(state), now_(now) {
    if (!page.owns(owner, state.head) || !page.owns(owner, state.tail)) state_ = {};
    rewind();
  }

  [[nodiscard]] const LogState& state() const noexcept { return state_; }

  [[nodiscard]] std::size_t size() const noexcept { return state_.size; }
  [[nodiscard]] std::uint64_t units() const noexcept { return state_.units; }
  [[nodiscard]] limit::Record get(std::size_t i) const noexcept { return *at(i); }

  void set(std::size_t i, const limit::Record& record) noexcept {
    limit::Record& old = *at(i);
    state_.units = sum(state_.units - old.cost, record.cost);
    old = record;
  }

  // false: there is no block left.
  bool append(const limit::Record& record) noexcept {
    const std::uint32_t end = state_.first + state_.size;
    if (state_.size == 0) {
      const std::uint32_t name = page_.take_block(owner_, entry_, now_);
      if (name == 0) return false;
      state_ = {.head = name, .tail = name, .first = 0, .size = 0, .units = 0};
      fresh_ = true;
    } else if (end % Block::records_max == 0) {
      std::uint32_t name = page_.next(state_.tail);  // left over by an erase
      if (name == 0) {
        name = page_.take_block(owner_, entry_, now_);
        if (name == 0) return false;
        page_.block(state_.tail).next = name;
      }
      state_.tail = name;
    }
    page_.block(state_.tail).records[(state_.first + state_.size) % Block::records_max] = record;
    ++state_.size;
    state_.units = sum(state_.units, record.cost);
    return true;
  }

  void drop_oldest(std::size_t n) noexcept {
    for (std::size_t i = 0; i < n; ++i) state_.units -= at(i)->cost;
    if (n >= state_.size) {
      clear();
    } else {
      state_.head = block_of(n);
      state_.first = static_cast<std::uint32_t>((state_.first + n) % Block::records_max);
      state_.size -= static_cast<std::uint32_t>(n);
    }
    rewind();
  }

  void erase(std::size_t i) noexcept {
    state_.units -= at(i)->cost;
    for (; i + 1 < state_.size; ++i) *at(i) = get(i + 1);
    if (state_.size == 1) {
      clear();
    } else {
      const std::uint32_t tail = block_of(state_.size - 2);
      state_.tail = tail != 0 ? tail : state_.head;
      --state_.size;
    }
    rewind();
  }

  void merged() noexcept { ++merges_; }
  [[nodiscard]] std::uint64_t merges() const noexcept { return merges_; }

 private:
  [[nodiscard]] static std::uint64_t sum(std::uint64_t a, std::uint64_t b) noexcept {
    return a > std::numeric_limits<std::uint64_t>::max() - b
               ? std::numeric_limits<std::uint64_t>::max()
               : a + b;
  }

  // The blocks go when the entry is committed; those that no entry knows of, at once.
  void clear() noexcept {
    if (fresh_) page_.give_chain(owner_, state_.head, 0);
    state_ = {};
  }

  void rewind() const noexcept {
    seen_block_ = state_.head;
    seen_begin_ = 0;
  }

  // The block of the ith record; 0 where a damaged file lacks it. REQUIRES: i < size().
  [[nodiscard]] std::uint32_t block_of(std::size_t i) const noexcept {
    constexpr std::size_t each = Block::records_max;
    const std::size_t begin = (state_.first + i) / each * each;
    // Most requests look at both ends only.
    if (begin == (state_.first + state_.size - 1) / each * each) return state_.tail;
    if (begin < seen_begin_) rewind();
    while (seen_begin_ < begin && seen_block_ != 0) {
      seen_block_ = page_.next(seen_block_);
      seen_begin_ += each;
    }
    return seen_block_;
  }

  [[nodiscard]] limit::Record* at(std::size_t i) const noexcept {
    const std::uint32_t name = block_of(i);
    if (name == 0) return &nowhere_;
    return &page_.block(name).records[(state_.first + i) % Block::records_max];
  }

  const Page& page_;
  const EntryTag owner_;
  const std::uint32_t entry_;
  LogState state_;
  const Instant now_;
  mutable std::uint32_t seen_block_ = 0;
  mutable std::size_t seen_begin_ = 0;  // the position of that block's first record
  std::uint64_t merges_ = 0;
  bool fresh_ = false;               // no entry has this chain yet
  mutable limit::Record nowhere_{};  // of a damaged file: what its chains lack
};

}  // namespace headgate::store
