// The header of a table file of the format before the present one, 4. Behind the header, both are
// the same. docs/table-format.md has its picture.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "headgate/base/siphash.h"
#include "headgate/store/clock.h"
#include "headgate/store/ledger_layout.h"
#include "headgate/store/segment.h"
#include "headgate/store/sketch.h"

namespace headgate::store {

struct FormerHeader {
  static constexpr std::uint32_t format = 4;

  // Never changes after the file has got its name.
  struct Fixed {
    std::array<char, 8> magic;
    std::uint32_t version;
    std::uint32_t header_bytes;
    std::uint64_t total_bytes;
    std::uint64_t narrow_buckets;
    std::uint64_t wide_buckets;
    LedgerLayout ledger;  // without page_bytes
    HashSecret secret;
    std::uint64_t sketch_cells;
  };
  Fixed fixed;
  std::uint64_t checksum;  // of `fixed`
  alignas(64) Anchor anchor;
  alignas(64) std::atomic<std::uint64_t> narrow_inserts;
  alignas(64) std::atomic<std::uint64_t> wide_inserts;
  alignas(64) std::atomic<std::uint64_t> merged;
  alignas(64) SketchHead sketch;

  // Returns the header of a file that says that it has this format, or nullptr.
  [[nodiscard]] static const FormerHeader* in(std::span<const std::byte> file) noexcept;

  // Whether it is undamaged, and of a file of so many bytes.
  [[nodiscard]] bool plausible(std::size_t bytes) const noexcept;

  // What is behind it. REQUIRES: plausible().
  [[nodiscard]] Segment segment() const noexcept;
};

}  // namespace headgate::store
