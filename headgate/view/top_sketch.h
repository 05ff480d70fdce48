// Finds the heaviest keys of an endless stream in fixed memory: Space-Saving (Metwally, Agrawal and
// El Abbadi, "Efficient computation of frequent and top-k elements in data streams", 2005).
//
// A new key replaces the lightest stored key and inherits its weight as possible error. So, for
// every stored key,
//
//   at_least <= its true weight <= at_most,    at_most - at_least <= total weight / capacity
//
// and every key heavier than total weight / capacity is stored. halve() halves all weights, so that
// the present counts more than the past; the bounds then hold for weights halved and rounded down.
//
// One thread writes; any thread may read at the same time. Allocates nothing and has no pointers,
// so that it can lie in memory that processes share. If the process that writes is killed, another
// one may continue after repair().
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "headgate/view/single_writer.h"

namespace headgate::view {

class TopSketch {
 public:
  // At least twice top_length_max: the longest list that can be requested has no gaps, and the
  // error of a key is at most 1/256 of the total weight. A sketch takes about 60 KiB.
  static constexpr std::size_t capacity = 256;
  // [bytes] A multiple of 8. Holds a policy's name (64) and an address or a session's token (126).
  static constexpr std::size_t label_max = 192;

  TopSketch() { clear(); }

  // Adds `weight` to the weight of a key, and `extra` to its second count, which starts at 0 when
  // the key is stored. `hash` stands for the key; it must be keyed with a secret, so that clients
  // cannot choose it. Calls `write_label(char* out)` only for a key that is not stored yet; it
  // writes the key's label, 1..label_max bytes, and returns their number.
  template <class WriteLabel>
  void add(std::uint64_t hash, std::uint64_t weight, std::uint64_t extra,
           const WriteLabel& write_label) noexcept {
    const std::size_t place = find(hash);
    if (index_[place] == no_slot) {
      std::array<char, label_max> label;
      const std::size_t length = write_label(label.data());
      replace(hash, weight, extra, std::string_view(label.data(), length));
      return;
    }
    const std::size_t slot = index_[place];
    increase(counts_[slot], weight);
    increase(extras_[slot], extra);
  }

  // Stores with release order: a reader that sees a halved count sees what was stored before.
  void halve() noexcept;
  void clear() noexcept;

  // To be called by a new writer, before anything else: removes the key that the former one was
  // changing when it was killed, if there is one.
  void repair() noexcept;

  // Any thread:

  struct Entry {
    std::string label;
    std::uint64_t at_least = 0;
    std::uint64_t at_most = 0;
    std::uint64_t extra = 0;
  };
  // Returns the key in a slot, 0 to capacity - 1; std::nullopt if the slot is empty or changed
  // during each of several attempts. Throws std::bad_alloc.
  [[nodiscard]] std::optional<Entry> read(std::size_t slot) const;

 private:
  using Slot = std::uint16_t;
  static constexpr std::size_t index_size = 4 * capacity;  // 3/4 stay empty: probes are short
  static constexpr Slot no_slot = 0xffff;
  static constexpr std::size_t label_words = label_max / 8;
  struct Label {
    // Odd while the key of this slot changes. The writer stores everything that changes with the
    // key after that, with release order; a reader loads it with acquire order before it loads
    // `version` again. A reader that loaded the same even number twice saw no change in between.
    std::atomic<std::uint32_t> version{0};
    std::atomic<std::uint32_t> length{0};
    std::array<std::atomic<std::uint64_t>, label_words> words{};
  };

  [[nodiscard]] static std::size_t home(std::uint64_t hash) noexcept { return hash % index_size; }
  // Returns the position of this key in the index, or where it would be inserted.
  [[nodiscard]] std::size_t find(std::uint64_t hash) const noexcept {
    std::size_t place = home(hash);
    while (index_[place] != no_slot && hashes_[index_[place]] != hash) {
      place = (place + 1) % index_size;
    }
    return place;
  }
  void empty(std::size_t slot) noexcept;
  void forget(Slot slot) noexcept;
  void replace(std::uint64_t hash, std::uint64_t weight, std::uint64_t extra,
               std::string_view label) noexcept;
  [[nodiscard]] std::uint64_t count(Slot slot) const noexcept {
    return counts_[slot].load(std::memory_order_relaxed);
  }
  [[nodiscard]] Slot lightest() noexcept;

  // Per slot, read by any thread:
  std::array<std::atomic<std::uint64_t>, capacity> counts_{};
  std::array<std::atomic<std::uint64_t>, capacity> errors_{};
  std::array<std::atomic<std::uint64_t>, capacity> extras_{};
  std::array<Label, capacity> labels_{};
  // Used by the writer only:
  std::array<std::uint64_t, capacity> hashes_{};
  std::array<Slot, index_size> index_{};  // slots by hash; linear probing
  std::uint64_t floor_ = 0;               // no count is below it
  Slot hand_ = 0;                         // the slot that lightest() returned last
};

}  // namespace headgate::view
