// A key's log in the blocks of its page: implements the concept limit::Log.
#pragma once

#include <cstdint>
#include <limits>

#include "headgate/store/page.h"

namespace headgate::store {

// Works on a copy of the entry's LogState; state() returns what the entry must contain afterwards.
// Records are changed in place. REQUIRES: for changes, Page::begin() of the entry. The blocks are a
// list, so access is sequential: a record in an earlier block than the last access is found from
// the oldest block on. Both ends are found directly.
class BlockLog {
 public:
  BlockLog(const Page& page, EntryTag owner, std::uint32_t entry, const LogState& state,
           Instant now) noexcept
      : page_(page), owner_(owner), entry_(entry), state_(state), now_(now) {
    const bool is_sound = page.owns(owner, state.head) && page.owns(owner, state.tail) &&
                          state.first < Block::records_max && state.size <= page.records_max();
    if (!is_sound) state_ = {};  // of a damaged file: no step takes longer than in a full page
    rewind();
  }

  [[nodiscard]] const LogState& state() const noexcept { return state_; }

  [[nodiscard]] std::size_t size() const noexcept { return state_.size; }
  [[nodiscard]] std::uint64_t units() const noexcept { return state_.units; }
  [[nodiscard]] limit::Record get(std::size_t i) const noexcept { return *at(i); }

  void set(std::size_t i, const limit::Record& record) noexcept {
    is_changed_ = true;
    limit::Record& old = *at(i);
    state_.units = sum(state_.units - old.cost, record.cost);
    old = record;
  }

  // Returns false if the page has no free block.
  bool append(const limit::Record& record) noexcept {
    is_changed_ = true;
    const std::uint32_t end = state_.first + state_.size;
    if (state_.size == 0) {
      std::uint32_t name = state_.head;
      if (name == 0) {
        name = page_.take_block(owner_, entry_, now_);
        fresh_ = name != 0;
      }
      if (name == 0) {
        starved_ = true;
        return false;
      }
      state_ = {.head = name, .tail = name, .first = 0, .size = 0, .units = 0};
      rewind();
    } else if (end % Block::records_max == 0) {
      std::uint32_t name = page_.next(state_.tail);  // kept by an earlier erase()
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

  void erase(std::size_t first, std::size_t last) noexcept {
    if (first == last) return;
    is_changed_ = true;
    const auto left = state_.size - static_cast<std::uint32_t>(last - first);
    if (left == 0) return drop_oldest(last);
    Cursor to(*this, first);
    Cursor from = to;
    for (std::size_t i = first; i < last; ++i, ++from) state_.units -= (*from).cost;
    for (std::size_t i = last; i < state_.size; ++i, ++from, ++to) *to = *from;
    const std::uint32_t tail = block_of(left - 1);
    state_.tail = tail != 0 ? tail : state_.head;
    state_.size = left;
    rewind();
  }

  void merged() noexcept { ++merges_; }
  [[nodiscard]] std::uint64_t merges() const noexcept { return merges_; }
  // Frees the blocks that no entry contains yet. The log has no meaning any more.
  void discard() noexcept { clear(); }
  // Whether more was done than to drop the oldest records.
  [[nodiscard]] bool is_changed() const noexcept { return is_changed_; }
  // Whether a record is lost, because there was no free block for the first one.
  [[nodiscard]] bool starved() const noexcept { return starved_; }

 private:
  // A place that moves on from record to record.
  class Cursor {
   public:
    Cursor(const BlockLog& log, std::size_t i) noexcept
        : log_(&log),
          block_(log.block_of(i)),
          position_((log.state_.first + i) % Block::records_max) {}

    [[nodiscard]] limit::Record& operator*() const noexcept {
      return log_->record(block_, position_);
    }
    Cursor& operator++() noexcept {
      if (++position_ < Block::records_max) return *this;
      position_ = 0;
      if (block_ != 0) block_ = log_->page_.next(block_);
      return *this;
    }

   private:
    const BlockLog* log_;
    std::uint32_t block_;  // 0 if it is missing
    std::size_t position_;
  };

  [[nodiscard]] static std::uint64_t sum(std::uint64_t a, std::uint64_t b) noexcept {
    return a > std::numeric_limits<std::uint64_t>::max() - b
               ? std::numeric_limits<std::uint64_t>::max()
               : a + b;
  }

  // Page::commit() frees the blocks of an entry. Blocks that no entry contains yet are freed here.
  void clear() noexcept {
    if (fresh_) page_.free_chain(owner_, state_.head, 0);
    state_ = {};
  }

  void rewind() const noexcept {
    cached_block_ = state_.head;
    cached_begin_ = 0;
  }

  // Makes the block of the ith record the cached one. It is 0 if the block is missing, because the
  // file is damaged. REQUIRES: i < size().
  void seek(std::size_t i) const noexcept {
    constexpr std::size_t each = Block::records_max;
    if (state_.first + i - cached_begin_ < each) return;
    const std::size_t begin = (state_.first + i) / each * each;
    // Most requests read only the two ends.
    if (begin == (state_.first + state_.size - 1) / each * each) {
      cached_block_ = state_.tail;
      cached_begin_ = begin;
      return;
    }
    if (begin < cached_begin_) rewind();
    while (cached_begin_ < begin && cached_block_ != 0) {
      cached_block_ = page_.next(cached_block_);
      cached_begin_ += each;
    }
    cached_begin_ = begin;
  }
  [[nodiscard]] std::uint32_t block_of(std::size_t i) const noexcept {
    seek(i);
    return cached_block_;
  }

  [[nodiscard]] limit::Record* at(std::size_t i) const noexcept {
    seek(i);
    return &record(cached_block_, state_.first + i - cached_begin_);
  }
  [[nodiscard]] limit::Record& record(std::uint32_t name, std::size_t position) const noexcept {
    return name == 0 ? missing_ : page_.block(name).records[position];
  }

  const Page& page_;
  const EntryTag owner_;
  const std::uint32_t entry_;
  LogState state_;
  const Instant now_;
  mutable std::uint32_t cached_block_ = 0;  // the block of the last access
  mutable std::size_t cached_begin_ = 0;    // the position of that block's first record
  std::uint64_t merges_ = 0;
  bool fresh_ = false;  // no entry contains this chain yet
  bool starved_ = false;
  bool is_changed_ = false;
  mutable limit::Record missing_{};  // stands for records that a damaged file lacks
};

}  // namespace headgate::store
