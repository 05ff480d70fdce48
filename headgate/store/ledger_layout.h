// The sizes of a ledger. Part of the table's header.
#pragma once

#include <cstddef>
#include <cstdint>

namespace headgate::store {

struct LedgerLayout {
  static constexpr std::uint32_t pages_max = 1024;

  std::uint32_t pages = 0;
  std::uint32_t entries = 0;     // per page
  std::uint32_t blocks = 0;      // per page
  std::uint32_t page_bytes = 0;  // a multiple of 64

  // The layout that fills `bytes`, with `log_share` 64ths of it for blocks. At least one page, also
  // if that needs more than `bytes`.
  [[nodiscard]] static LedgerLayout in(std::size_t bytes, unsigned log_share) noexcept;
  [[nodiscard]] std::size_t bytes() const noexcept { return std::size_t{pages} * page_bytes; }
  [[nodiscard]] bool plausible() const noexcept;
};

}  // namespace headgate::store
