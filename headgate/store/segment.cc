#include "headgate/store/segment.h"

#include <algorithm>
#include <cstring>

#include "headgate/base/siphash.h"

namespace headgate::store {

Segment Segment::divide(std::uint64_t begin, std::uint64_t end, const SegmentShares& shares,
                        std::size_t sketch_cells) noexcept {
  Segment segment{};
  segment.begin = begin;
  segment.end = end;
  segment.sketch_cells = sketch_cells;
  const std::size_t room = end - begin - sketch_cells * 8;
  segment.ledger = LedgerLayout::in(room / 64 * shares.ledger, shares.logs);
  // In a small table the ledger's minimum size is larger than its share.
  const std::size_t wide_most = room - segment.ledger.bytes() - 2 * narrow_bucket_bytes;
  const std::size_t wide_bytes = std::min<std::size_t>(room / 64 * shares.wide, wide_most);
  segment.wide_buckets = std::max<std::size_t>(2, wide_bytes / wide_bucket_bytes);
  segment.narrow_buckets =
      (room - segment.ledger.bytes() - segment.wide_buckets * wide_bucket_bytes) /
      narrow_bucket_bytes;
  return of(segment);
}

Segment Segment::of(Segment parts) noexcept {
  parts.checksum = parts.computed_checksum();
  return parts;
}

bool Segment::plausible() const noexcept {
  if (checksum != computed_checksum() || begin >= end || !ledger.plausible()) return false;
  // Each of the numbers alone, so that the sum cannot overflow.
  const std::size_t room = end - begin;
  const std::size_t counts[] = {narrow_buckets, wide_buckets, sketch_cells, ledger.bytes()};
  if (std::any_of(std::begin(counts), std::end(counts), [&](std::size_t n) { return n > room; })) {
    return false;
  }
  return room < std::size_t{1} << 48 && narrow_buckets >= 2 && wide_buckets >= 2 &&
         sketch().at + sketch_cells * 8 <= end;
}

KnownSegments::KnownSegments(const Segments& shared) noexcept : shared_(shared) {
  static_cast<void>(learn(shared.count.load()));
}

// The shared number is smaller if memory with fewer segments has taken the place of a truncated
// file, and any number if the file has lost its first page.
std::span<const Segment> KnownSegments::learn(std::uint64_t count) const noexcept {
  const std::lock_guard lock(learning_);
  std::size_t known = known_.load(std::memory_order_relaxed);
  for (; known < std::min<std::uint64_t>(count, Segments::most); ++known) {
    const Segment copy = shared_.all[known];
    if (!copy.plausible()) break;
    copies_[known] = copy;
  }
  known_.store(known, std::memory_order_release);
  return std::span(copies_).first(std::clamp<std::uint64_t>(count, 1, known));
}

std::uint64_t Segment::computed_checksum() const noexcept {
  char bytes[offsetof(Segment, checksum)];
  std::memcpy(bytes, this, sizeof bytes);
  return public_hash({}, {bytes, sizeof bytes}).lo;
}

}  // namespace headgate::store
