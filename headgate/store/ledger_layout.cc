#include "headgate/store/ledger_layout.h"

#include <algorithm>

#include "headgate/store/page.h"

namespace headgate::store {
namespace {

// Pages of 256 KiB are large enough for full logs of 4096 records (75 KiB) and for keys to be
// spread evenly over them. With more than pages_max two requests would hardly meet less often.
constexpr std::size_t page_bytes_wanted = 256 * 1024;

}  // namespace

LedgerLayout LedgerLayout::in(std::size_t bytes, unsigned log_share) noexcept {
  LedgerLayout layout;
  layout.pages =
      static_cast<std::uint32_t>(std::clamp<std::size_t>(bytes / page_bytes_wanted, 1, pages_max));
  constexpr std::size_t padding =
      4 * 64;  // each of the four arrays of a page is aligned to 64 bytes
  constexpr std::size_t entry_bytes = sizeof(EntryTag) + sizeof(Entry);
  constexpr std::size_t smallest = sizeof(PageHead) + padding + Page::probes * entry_bytes;
  const std::size_t page = std::max(bytes / layout.pages, smallest) / 64 * 64;
  // At most 1 GiB, so that indices of entries and blocks fit into 32 bits.
  const std::size_t room = std::min<std::size_t>(page - sizeof(PageHead) - padding, 1u << 30);
  const std::size_t log_room = std::min(room / 64 * log_share, room - Page::probes * entry_bytes);
  layout.blocks = static_cast<std::uint32_t>(log_room / (sizeof(Block) + 1));
  layout.entries = static_cast<std::uint32_t>((room - log_room) / entry_bytes);
  layout.page_bytes = static_cast<std::uint32_t>(Page::bytes(layout.entries, layout.blocks));
  return layout;
}

bool LedgerLayout::plausible() const noexcept {
  constexpr std::uint32_t most = 1u << 30;
  return pages >= 1 && pages <= pages_max && entries >= Page::probes && entries <= most &&
         blocks <= most && page_bytes == Page::bytes(entries, blocks);
}

}  // namespace headgate::store
