#include "headgate/store/former_header.h"

#include <cstring>

#include "headgate/store/page.h"

namespace headgate::store {
namespace {

constexpr std::array<char, 8> magic{'h', 'e', 'a', 'd', 'g', 'a', 't', 'e'};
constexpr std::uint32_t header_bytes = 4096;

}  // namespace

const FormerHeader* FormerHeader::in(std::span<const std::byte> file) noexcept {
  static_assert(sizeof(FormerHeader) <= header_bytes && offsetof(FormerHeader, checksum) == 80 &&
                offsetof(FormerHeader, anchor) == 128 &&
                offsetof(FormerHeader, narrow_inserts) == 192 &&
                offsetof(FormerHeader, wide_inserts) == 256 &&
                offsetof(FormerHeader, merged) == 320 && offsetof(FormerHeader, sketch) == 384);
  if (file.size() < header_bytes) return nullptr;
  const auto* header = reinterpret_cast<const FormerHeader*>(file.data());
  return header->fixed.magic == magic && header->fixed.version == format ? header : nullptr;
}

bool FormerHeader::plausible(std::size_t bytes) const noexcept {
  char said[sizeof fixed];
  std::memcpy(said, &fixed, sizeof said);
  return checksum == public_hash({}, {said, sizeof said}).lo &&
         fixed.header_bytes == header_bytes && fixed.total_bytes == bytes &&
         fixed.sketch_cells >= Sketch::cells_min && segment().plausible();
}

Segment FormerHeader::segment() const noexcept {
  LedgerLayout ledger = fixed.ledger;
  ledger.page_bytes = static_cast<std::uint32_t>(Page::bytes(ledger.entries, ledger.blocks));
  return Segment::of({.begin = header_bytes,
                      .end = fixed.total_bytes,
                      .narrow_buckets = fixed.narrow_buckets,
                      .wide_buckets = fixed.wide_buckets,
                      .ledger = ledger,
                      .sketch_cells = fixed.sketch_cells,
                      .checksum = 0});
}

}  // namespace headgate::store
