// The segments of a table: one when it is made, and one more each time it grows.
//
// A key's state stays in the segment where it is. A new key gets a place in the newest segment that
// has one. So nothing is moved when a table grows, and no request waits.
//
// A request may still see the former number of segments while another one uses the new one
// already. It looks at that number again after it has claimed a cell (cell_table.h) or locked its
// pages (ledger.h), and so notices every place that a faster request may have taken.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>

#include "headgate/store/ledger_layout.h"

namespace headgate::store {

// Some parts of a table that are of one kind and follow each other.
struct PartRange {
  std::size_t at;     // where the first one begins [bytes from the table's begin]
  std::size_t count;  // how many there are
};

// How memory is divided [1/64ths, 1..63].
struct SegmentShares {
  unsigned wide;    // wide cells, of all
  unsigned ledger;  // of all
  unsigned logs;    // of the ledger
};

// Where the parts of a segment are. Never changes once it is published.
struct Segment {
  static constexpr std::size_t narrow_bucket_bytes = 64;
  static constexpr std::size_t wide_bucket_bytes = 128;
  static constexpr std::size_t bytes_min = 12 * 1024;

  std::uint64_t begin;  // [bytes from the table's begin], a multiple of 64
  std::uint64_t end;
  std::uint64_t narrow_buckets;
  std::uint64_t wide_buckets;
  LedgerLayout ledger;
  std::uint64_t sketch_cells;
  std::uint64_t checksum;  // of all other members

  // A segment of end - begin bytes, of which the sketch gets its cells first.
  // REQUIRES: at least bytes_min, and a sketch that leaves that much.
  [[nodiscard]] static Segment divide(std::uint64_t begin, std::uint64_t end,
                                      const SegmentShares& shares,
                                      std::size_t sketch_cells) noexcept;
  // The same with its checksum.
  [[nodiscard]] static Segment of(Segment parts) noexcept;

  [[nodiscard]] PartRange narrow() const noexcept { return {begin, narrow_buckets}; }
  [[nodiscard]] PartRange wide() const noexcept {
    return {begin + narrow_buckets * narrow_bucket_bytes, wide_buckets};
  }
  [[nodiscard]] std::size_t ledger_at() const noexcept {
    return wide().at + wide_buckets * wide_bucket_bytes;
  }
  [[nodiscard]] PartRange sketch() const noexcept {
    return {ledger_at() + ledger.bytes(), sketch_cells};
  }

  // Whether it was read from a file without damage and its parts fit into it.
  [[nodiscard]] bool plausible() const noexcept;

 private:
  [[nodiscard]] std::uint64_t computed_checksum() const noexcept;
};
static_assert(sizeof(Segment) == 64);

// Part of the table's header.
struct Segments {
  static constexpr std::size_t most = 8;

  std::atomic<std::uint64_t> count;
  alignas(64) std::array<Segment, most> all;

  [[nodiscard]] const Segment& newest() const noexcept { return all[count.load() - 1]; }
  // The oldest first.
  [[nodiscard]] std::span<const Segment> present() const noexcept {
    return {all.data(), static_cast<std::size_t>(count.load())};
  }
  // REQUIRES: there are less than `most`, and no other process or thread publishes one.
  void publish(const Segment& segment) noexcept {
    const std::uint64_t before = count.load();
    all[before] = segment;
    count.store(before + 1);
  }
};

// The segments as a process knows them: copies. So a file that is truncated within its first page,
// where the rest becomes zero without a signal, cannot move its parts.
//
// Thread-safe.
class KnownSegments {
 public:
  // `shared` is the caller's, shared with other processes, and has at least one plausible segment.
  explicit KnownSegments(const Segments& shared) noexcept;

  // The oldest first; never empty.
  [[nodiscard]] std::span<const Segment> present() const noexcept {
    const std::uint64_t count = shared_.count.load();
    const std::size_t known = known_.load(std::memory_order_acquire);
    if (0 < count && count <= known) return {copies_.data(), static_cast<std::size_t>(count)};
    return learn(count);
  }
  [[nodiscard]] const Segment& newest() const noexcept { return present().back(); }

 private:
  [[nodiscard]] std::span<const Segment> learn(std::uint64_t count) const noexcept;

  const Segments& shared_;
  mutable std::mutex learning_;
  mutable std::atomic<std::size_t> known_{0};
  mutable std::array<Segment, Segments::most> copies_{};
};

}  // namespace headgate::store
