// The last denial of each partition that was denied lately.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "headgate/base/instant.h"
#include "headgate/base/siphash.h"

namespace headgate::view {

struct LastDenial {
  Instant at;
  std::uint64_t cost = 0;   // of the request that was denied [units]
  std::uint64_t left = 0;   // [units]
  std::uint64_t quota = 0;  // [units]
  std::optional<std::uint64_t>
      wait{};             // until the cost would have been admitted [s]; std::nullopt:
                          // waiting did not help, or the time was not known
  bool enforced = false;  // false: in shadow mode, so that the request passed

  friend bool operator==(const LastDenial&, const LastDenial&) = default;
};

// Returns the later one of two.
[[nodiscard]] inline std::optional<LastDenial> later(const std::optional<LastDenial>& one,
                                                     const std::optional<LastDenial>& other) {
  if (!one || !other) return one ? one : other;
  return one->at < other->at ? other : one;
}

// One thread writes, any thread may read. Has no pointers, so that it can lie in memory that
// processes share: 128 KiB.
class LastDenials {
 public:
  // Where more partitions are denied, those that were denied longest ago are forgotten. 2,048: some
  // minutes also if ten other clients are denied per second.
  static constexpr std::size_t capacity = 2048;

  // `partition` is a keyed hash, so that clients cannot choose it.
  void note(Hash128 partition, const LastDenial& denial) noexcept;

  // To be called by a new writer, before anything else: removes the entry that the former one was
  // changing when it was killed, if there is one.
  void repair() noexcept;

  // Any thread:

  // Returns std::nullopt also if the entry changes during each of several attempts.
  [[nodiscard]] std::optional<LastDenial> find(Hash128 partition) const noexcept;

 private:
  using Word = std::atomic<std::uint64_t>;
  struct alignas(64) Entry {
    Word version{0};  // as TopSketch::Label::version
    Word lo{0};       // of the partition
    Word hi{0};
    Word at{0};  // [ns]; 0: no denial
    Word cost{0};
    Word left{0};
    Word quota{0};
    Word wait{0};  // [s], twice, plus 1 if it was enforced
  };
  static constexpr std::size_t ways = 4;  // entries in which a partition may be
  using Set = std::array<Entry, ways>;

  [[nodiscard]] static std::size_t set_of(Hash128 partition) noexcept {
    return partition.lo % (capacity / ways);
  }

  std::array<Set, capacity / ways> sets_{};
};

}  // namespace headgate::view
