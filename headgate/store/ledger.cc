#include "headgate/store/ledger.h"

namespace headgate::store {
namespace {

// How many entries or blocks all pages have.
std::uint64_t total(std::span<const Segment> segments,
                    std::uint32_t LedgerLayout::*of_a_page) noexcept {
  std::uint64_t sum = 0;
  for (const Segment& segment : segments) {
    sum += std::uint64_t{segment.ledger.pages} * segment.ledger.*of_a_page;
  }
  return sum;
}

}  // namespace

void Ledger::Hold::lock() noexcept {
  for (;;) {
    segments_ = ledger_.segments_->present();
    pages_count_ = 0;
    for (std::uint32_t i = 0; i < segments_.size(); ++i) {
      for (std::size_t key = 0; key < keys_count_; ++key) {
        pages_[pages_count_++] =
            i * LedgerLayout::pages_max + scaled(keys_[key], segments_[i].ledger.pages);
      }
    }
    if (pages_count_ > 1) {
      const auto end = pages_.begin() + static_cast<std::ptrdiff_t>(pages_count_);
      std::sort(pages_.begin(), end);
      pages_count_ = static_cast<std::size_t>(std::unique(pages_.begin(), end) - pages_.begin());
    }
    for_each_page([](const Page& page) { page.lock(); });
    // If the table has grown meanwhile, another request may have used the new segment for one of
    // these keys before these locks were held.
    if (ledger_.segments_->present().size() == segments_.size()) return;
    unlock();
  }
}

void Ledger::Hold::unlock() noexcept {
  for_each_page([](const Page& page) { page.unlock(); });
  pages_count_ = 0;
}

void Ledger::take_over(std::byte* begin, const Segment& segment) noexcept {
  for (std::uint32_t i = 0; i < segment.ledger.pages; ++i) {
    page(begin, segment, i).make_lock();
    page(begin, segment, i).heal();
  }
}

std::uint64_t Ledger::entries() const noexcept {
  return total(segments_->present(), &LedgerLayout::entries);
}

std::uint64_t Ledger::blocks() const noexcept {
  return total(segments_->present(), &LedgerLayout::blocks);
}

std::uint64_t Ledger::live(Instant now) const noexcept {
  constexpr std::uint32_t sample = 32;  // pages of at most 256 KiB: less than a millisecond in all
  std::uint64_t live = 0;
  for (const Segment& segment : segments_->present()) {
    const LedgerLayout& layout = segment.ledger;
    const std::uint32_t count = std::min(sample, layout.pages);
    std::uint64_t found = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      const Page page = this->page(begin_, segment, layout.pages * i / count);
      page.lock();
      for (std::uint32_t at = 0; at < layout.entries; ++at) {
        if (page.tag(at) != 0 && page.entry(at).kept_until() > now.ns) ++found;
      }
      page.unlock();
    }
    live += found * layout.pages / count;
  }
  return live;
}

}  // namespace headgate::store
