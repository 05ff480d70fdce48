#include "headgate/view/top_sketch.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

namespace headgate::view {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto release = std::memory_order_release;

}  // namespace

void TopSketch::clear() noexcept {
  index_.fill(no_slot);
  floor_ = 0;
  for (std::size_t i = 0; i < capacity; ++i) empty(i);
}

void TopSketch::empty(std::size_t slot) noexcept {
  Label& label = labels_[slot];
  const std::uint32_t version = label.version.load(relaxed) | 1;
  label.version.store(version, relaxed);
  label.length.store(0, release);
  counts_[slot].store(0, release);
  errors_[slot].store(0, release);
  extras_[slot].store(0, release);
  label.version.store(version + 1, release);
}

void TopSketch::repair() noexcept {
  index_.fill(no_slot);
  floor_ = 0;
  hand_ = 0;
  for (std::size_t i = 0; i < capacity; ++i) {
    if (labels_[i].version.load(relaxed) % 2 != 0) empty(i);
    if (labels_[i].length.load(relaxed) == 0) continue;
    index_[find(hashes_[i])] = static_cast<Slot>(i);
  }
}

void TopSketch::halve() noexcept {
  floor_ /= 2;
  for (std::size_t i = 0; i < capacity; ++i) {
    counts_[i].store(counts_[i].load(relaxed) / 2, release);
    errors_[i].store((errors_[i].load(relaxed) + 1) / 2, release);  // up: at_least stays true
    extras_[i].store(extras_[i].load(relaxed) / 2, release);
  }
}

void TopSketch::replace(std::uint64_t hash, std::uint64_t weight, std::uint64_t extra,
                        std::string_view text) noexcept {
  const Slot slot = lightest();
  Label& label = labels_[slot];
  const std::uint32_t version = label.version.load(relaxed);
  label.version.store(version + 1, relaxed);
  // For repair(), in case that the process is killed from here on.
  std::atomic_signal_fence(std::memory_order_seq_cst);
  forget(slot);
  index_[find(hash)] = slot;
  hashes_[slot] = hash;
  for (std::size_t i = 0; i * 8 < text.size(); ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + i * 8, std::min<std::size_t>(8, text.size() - i * 8));
    label.words[i].store(word, release);
  }
  label.length.store(static_cast<std::uint32_t>(text.size()), release);
  errors_[slot].store(count(slot), release);
  counts_[slot].store(count(slot) + weight, release);
  extras_[slot].store(extra, release);
  label.version.store(version + 2, release);
}

// Counts only grow, so a slot at the floor is the lightest. The search starts behind the last
// result: if few keys repeat, the next slot is at the floor. Takes two rounds at most.
TopSketch::Slot TopSketch::lightest() noexcept {
  for (;;) {
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
    for (std::size_t i = 0; i < capacity; ++i) {
      hand_ = static_cast<Slot>((hand_ + 1) % capacity);
      if (count(hand_) <= floor_) return hand_;
      least = std::min(least, count(hand_));
    }
    floor_ = least;
  }
}

// Removes a slot's key from the index, and closes the gap for keys that were probed past it.
void TopSketch::forget(Slot slot) noexcept {
  std::size_t gap = find(hashes_[slot]);
  if (index_[gap] != slot) return;  // the slot is empty
  for (std::size_t at = (gap + 1) % index_size; index_[at] != no_slot; at = (at + 1) % index_size) {
    const std::size_t wanted = home(hashes_[index_[at]]);
    const bool behind_gap = (at - wanted) % index_size >= (at - gap) % index_size;
    if (behind_gap) index_[std::exchange(gap, at)] = index_[at];
  }
  index_[gap] = no_slot;
}

std::optional<TopSketch::Entry> TopSketch::read(std::size_t slot) const {
  constexpr int attempts = 100;  // a change takes less than a microsecond
  constexpr auto acquire = std::memory_order_acquire;
  const Label& label = labels_[slot];
  std::array<char, label_max> text;
  for (int i = 0; i < attempts; ++i) {
    const std::uint32_t version = label.version.load(acquire);
    if (version % 2 != 0) continue;
    const std::size_t length = label.length.load(acquire);
    for (std::size_t w = 0; w * 8 < length; ++w) {
      const std::uint64_t word = label.words[w].load(acquire);
      std::memcpy(text.data() + w * 8, &word, 8);
    }
    const std::uint64_t count = counts_[slot].load(acquire);
    const std::uint64_t error = errors_[slot].load(acquire);
    const std::uint64_t extra = extras_[slot].load(acquire);
    if (label.version.load(relaxed) != version) continue;
    if (length == 0) return std::nullopt;
    return Entry{std::string(text.data(), length), count - std::min(count, error), count, extra};
  }
  return std::nullopt;
}

}  // namespace headgate::view
