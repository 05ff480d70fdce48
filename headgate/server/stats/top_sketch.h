// The heaviest keys of an endless stream, in fixed memory: Space-Saving (Metwally, Agrawal and
// El Abbadi, "Efficient computation of frequent and top-k elements in data streams", 2005).
//
// A key that is not among those watched takes the place of the lightest one and inherits its
// weight as its possible error. So of every key that is listed
//
//   at_least <= its true weight <= at_most,    at_most - at_least <= all weight / capacity
//
// and every key heavier than all weight / capacity is listed. After halve(), which halves the past
// so that the list is about the present, all of this holds of weights halved and rounded down.
//
// One thread writes, any may read meanwhile. Nothing is allocated after the constructor.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "headgate/server/stats/single_writer.h"

namespace headgate::server {

class TopSketch {
 public:
  static constexpr std::size_t capacity = 256;
  static constexpr std::size_t label_max = 192;  // [bytes]

  TopSketch();

  // Adds `weight` to a key, and `extra` to whatever else is counted of it while it is watched.
  // `hash` stands for the key; whoever chooses keys must not be able to choose it. Only of a key
  // that was not watched, `write_label(char* out)` is called: it writes the key as it will be
  // listed, 1..label_max bytes, and returns their number.
  template <class WriteLabel>
  void add(std::uint64_t hash, std::uint64_t weight, std::uint64_t extra,
           const WriteLabel& write_label) noexcept {
    const std::size_t place = find(hash);
    if (index_[place] == nobody) {
      std::array<char, label_max> label;
      const std::size_t length = write_label(label.data());
      replace(hash, weight, extra, std::string_view(label.data(), length));
      return;
    }
    const std::size_t slot = index_[place];
    increase(counts_[slot], weight);
    increase(extras_[slot], extra);
  }

  void halve() noexcept;
  void clear() noexcept;

  // Any thread:

  struct Entry {
    std::string label;
    std::uint64_t at_least = 0;
    std::uint64_t at_most = 0;
    std::uint64_t extra = 0;
  };
  // The slot'th of `capacity` keys; std::nullopt if there is none, or it is changing again and
  // again. Throws std::bad_alloc.
  [[nodiscard]] std::optional<Entry> read(std::size_t slot) const;

 private:
  using Slot = std::uint16_t;
  static constexpr std::size_t index_size = 4 * capacity;
  static constexpr Slot nobody = 0xffff;
  static constexpr std::size_t label_words = label_max / 8;
  struct Label {
    // Odd while the key of this slot changes. Everything that changes with it is stored after that
    // with release order, and loaded with acquire order before `version` is loaded again: whoever
    // has seen the same even number twice has seen nothing of a change in between.
    std::atomic<std::uint32_t> version{0};
    std::atomic<std::uint32_t> length{0};
    std::array<std::atomic<std::uint64_t>, label_words> words{};
  };

  [[nodiscard]] static std::size_t home(std::uint64_t hash) noexcept { return hash % index_size; }
  // Where the index has this key, or would have it.
  [[nodiscard]] std::size_t find(std::uint64_t hash) const noexcept {
    std::size_t place = home(hash);
    while (index_[place] != nobody && hashes_[index_[place]] != hash) {
      place = (place + 1) % index_size;
    }
    return place;
  }
  void forget(Slot slot) noexcept;
  void replace(std::uint64_t hash, std::uint64_t weight, std::uint64_t extra,
               std::string_view label) noexcept;
  [[nodiscard]] std::uint64_t count(Slot slot) const noexcept {
    return counts_[slot].load(std::memory_order_relaxed);
  }
  [[nodiscard]] Slot lightest() noexcept;

  // Of each slot: what readers see, ...
  std::array<std::atomic<std::uint64_t>, capacity> counts_{};
  std::array<std::atomic<std::uint64_t>, capacity> errors_{};
  std::array<std::atomic<std::uint64_t>, capacity> extras_{};
  std::unique_ptr<std::array<Label, capacity>> labels_;
  // ... and what only the writer does.
  std::array<std::uint64_t, capacity> hashes_{};
  std::array<Slot, index_size> index_{};  // slots by hash; linear probing
  std::uint64_t floor_ = 0;               // no count is below it
  Slot hand_ = 0;                         // where the lightest was found last
};

}  // namespace headgate::server
