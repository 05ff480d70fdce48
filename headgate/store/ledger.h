// The ledger: the states that are more than a timestamp (windows, the exponential law, logs and
// slots).
//
// The ledger has pages, each with its own lock; a request holds the locks of its charges' pages
// while it decides. Locks instead of the cells' swaps, because these states have several words, and
// some have thousands. A lock is held for less than a microsecond, and is repaired if its holder
// dies.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>

#include "headgate/base/siphash.h"
#include "headgate/limit/law.h"
#include "headgate/store/apply_op.h"
#include "headgate/store/block_log.h"
#include "headgate/store/page.h"
#include "headgate/store/unkept.h"

namespace headgate::store {

// The sizes of a ledger. Part of the table's header.
struct LedgerLayout {
  std::uint32_t pages = 0;
  std::uint32_t entries = 0;  // per page
  std::uint32_t blocks = 0;   // per page
  std::uint32_t unused = 0;

  // The layout that fills `bytes`, with `log_share` 64ths of it for blocks. At least one page, also
  // if that needs more than `bytes`.
  [[nodiscard]] static LedgerLayout in(std::size_t bytes, unsigned log_share) noexcept;
  [[nodiscard]] std::size_t bytes() const noexcept;
  [[nodiscard]] bool plausible() const noexcept;
};

// WordsLaw: a law whose state is a few words. LogLaw: a law whose state is a log.
template <class L>
concept WordsLaw = requires {
  typename L::State;  // its words
};
template <class L>
concept LogLaw = requires(const L& law) {
  law.log_max();  // [records]
};
// Linear laws have cells of their own; the states of all others are in the ledger.
template <class L>
inline constexpr bool is_linear =
    std::is_same_v<L, limit::LinearWhole> || std::is_same_v<L, limit::LinearExact>;
template <class L>
inline constexpr bool in_ledger = LogLaw<L> || (WordsLaw<L> && !is_linear<L>);

// The number by which states of different laws are distinguished: 1..127, the position in
// limit::Law plus 1. It must be the same in all builds that use the same file.
template <class L, std::size_t i = 0>
[[nodiscard]] consteval EntryTag kind_of() {
  if constexpr (std::is_same_v<L, std::variant_alternative_t<i, limit::Law>>) {
    return i + 1;
  } else {
    return kind_of<L, i + 1>();
  }
}

struct LedgerAddress {
  EntryTag hash;       // an EntryTag with the kind 0
  std::uint32_t page;  // the index of the page
  std::uint32_t home;  // the first entry in which the key may be
};

class Ledger {
 public:
  Ledger() = default;
  // `at` and `merged`, the number of records that were merged because a log was full, are the
  // caller's, shared with other processes. REQUIRES: the memory is zeroed or contains a ledger of
  // this layout.
  Ledger(std::byte* at, const LedgerLayout& layout, std::atomic<std::uint64_t>& merged) noexcept
      : at_(at),
        layout_(layout),
        page_bytes_(Page::bytes(layout.entries, layout.blocks)),
        merged_(&merged) {}

  // Initialises the locks and undoes unfinished changes. REQUIRES: no other user of the ledger.
  void take_over() const noexcept;

  [[nodiscard]] LedgerAddress locate(const Hash128& hash) const noexcept {
    const auto scaled = [](std::uint64_t word, std::uint32_t count) {
      return static_cast<std::uint32_t>(u128{word} * count >> 64);
    };
    const std::uint64_t home = hash.hi * 0x9e3779b97f4a7c15;
    const EntryTag tag = hash.hi << 8;
    return {tag == 0 ? 0x100 : tag, scaled(hash.lo, layout_.pages), scaled(home, layout_.entries)};
  }
  void prefetch(const LedgerAddress& address) const noexcept {
    page(address.page).prefetch(address.home);
  }

  // Holds the locks of some pages until it is destroyed. It locks in the order of the pages, so
  // that there is no deadlock.
  class Hold {
   public:
    static constexpr std::size_t pages_max = 128;  // Bundle::charges_max: one page per charge

    explicit Hold(const Ledger& ledger) noexcept : ledger_(ledger) {}
    Hold(const Hold&) = delete;
    ~Hold() {
      for (std::size_t i = 0; i < count_; ++i) ledger_.page(pages_[i]).unlock();
    }
    void add(std::uint32_t page) noexcept { pages_[count_++] = page; }
    // To be called once, after the last add().
    void lock() noexcept {
      if (count_ > 1) {
        const auto end = pages_.begin() + static_cast<std::ptrdiff_t>(count_);
        std::sort(pages_.begin(), end);
        count_ = static_cast<std::size_t>(std::unique(pages_.begin(), end) - pages_.begin());
      }
      for (std::size_t i = 0; i < count_; ++i) ledger_.page(pages_[i]).lock();
    }

   private:
    const Ledger& ledger_;
    std::array<std::uint32_t, pages_max> pages_;
    std::size_t count_ = 0;
  };

  // Changes a key's state by a charge. If there is no room for the key, `unkept` decides. The law
  // counts by a clock that is `shift` ahead of the table's [ns]. REQUIRES: the page is locked.
  template <class L>
  limit::Decision apply(const L& law, const LedgerAddress& address, const UnkeptCharge& charge,
                        Nanos shift, Unkept<L> unkept) const noexcept;

  // Whether apply() of a spend would admit. REQUIRES: the page is locked.
  template <class L>
  [[nodiscard]] bool admits(const L& law, const LedgerAddress& address, std::uint64_t cost,
                            Instant now, Nanos shift, const Unkept<L>& unkept) const noexcept;

  // Whether the key has an entry or can get one. REQUIRES: the page is locked.
  template <class L>
  [[nodiscard]] bool keeps(const L&, const LedgerAddress& address, Instant now) const noexcept {
    const Page page = this->page(address.page);
    return page.find(tag_of<L>(address), address.home) != Page::none ||
           page.choose(address.home, now) != Page::none;
  }

  [[nodiscard]] std::uint64_t entries() const noexcept {
    return std::uint64_t{layout_.pages} * layout_.entries;
  }
  // The number of live keys, counted in 32 pages and scaled up to all. Locks each of those pages
  // for some microseconds.
  [[nodiscard]] std::uint64_t live(Instant now) const noexcept;

 private:
  [[nodiscard]] Page page(std::uint32_t i) const noexcept {
    return {at_ + i * page_bytes_, layout_.entries, layout_.blocks};
  }

  template <class L>
  [[nodiscard]] static EntryTag tag_of(const LedgerAddress& address) noexcept {
    return address.hash | kind_of<L>() | (LogLaw<L> ? log_kind : 0);
  }

  // Whether there is an entry at `at` and its state is still needed.
  [[nodiscard]] static bool is_live(const Page& page, std::uint32_t at, Instant now) noexcept {
    return at != Page::none && !page.entry(at).expired(now);
  }

  template <class T>
  [[nodiscard]] static T state_of(const Entry& entry) noexcept {
    static_assert(sizeof(T) <= Entry::state_bytes);
    T state;
    std::memcpy(&state, entry.state, sizeof state);
    return state;
  }
  // A key whose quota is full already (a slot was released) is kept as if it became full now.
  template <class L, class T>
  [[nodiscard]] static Entry entry_of(const L& law, const T& state, Nanos full_at,
                                      Instant now) noexcept {
    Entry entry{};
    entry.times = Entry::times_of(std::max(full_at, now.ns), law.coarse().window_class());
    std::memcpy(entry.state, &state, sizeof state);
    return entry;
  }

  template <class L>
  limit::Decision apply_words(const L& law, const Page& page, const LedgerAddress& address,
                              const UnkeptCharge& charge, Nanos shift,
                              Unkept<L> unkept) const noexcept;
  template <class L>
  limit::Decision apply_log(const L& law, const Page& page, const LedgerAddress& address,
                            const UnkeptCharge& charge, Unkept<L> unkept) const noexcept;

  std::byte* at_ = nullptr;
  LedgerLayout layout_;
  std::size_t page_bytes_ = 0;
  std::atomic<std::uint64_t>* merged_ = nullptr;
};

template <class L>
limit::Decision Ledger::apply(const L& law, const LedgerAddress& address,
                              const UnkeptCharge& charge, Nanos shift,
                              Unkept<L> unkept) const noexcept {
  const Page page = this->page(address.page);
  if constexpr (LogLaw<L>) {
    return apply_log(law, page, address, charge, unkept);
  } else {
    return apply_words(law, page, address, charge, shift, unkept);
  }
}

template <class L>
limit::Decision Ledger::apply_words(const L& law, const Page& page, const LedgerAddress& address,
                                    const UnkeptCharge& charge, Nanos shift,
                                    Unkept<L> unkept) const noexcept {
  const Instant now = charge.now;
  const Instant at_law{now.ns + shift};
  const EntryTag tag = tag_of<L>(address);
  std::uint32_t at = page.find(tag, address.home);
  const bool is_new = at == Page::none;
  const bool busy = is_new && unkept.busy();
  if (busy && unkept.refunds()) return unkept.decide().decision;
  std::optional<typename L::State> state;
  if (is_live(page, at, now)) state = state_of<typename L::State>(page.entry(at));
  const std::uint64_t owed = busy ? unkept.units() : 0;
  if (owed > 0) state = law.debit(state, owed, at_law).state;
  const limit::Step<typename L::State> step = apply_op(law, state, charge.op, charge.cost, at_law);
  if (is_new && (step.changed || busy)) {
    at = page.choose(address.home, now);
    if (at == Page::none || (owed > 0 && !step.decision.admitted)) return unkept.decide().decision;
  }
  if (!step.changed) return step.decision;
  page.begin(at);
  page.write(at, tag, entry_of(law, step.state, law.full_at(step.state) - shift, now));
  page.commit(at);
  return step.decision;
}

template <class L>
limit::Decision Ledger::apply_log(const L& law, const Page& page, const LedgerAddress& address,
                                  const UnkeptCharge& charge, Unkept<L> unkept) const noexcept {
  const Instant now = charge.now;
  const EntryTag tag = tag_of<L>(address);
  const std::uint32_t found = page.find(tag, address.home);
  const bool is_new = found == Page::none;
  const bool busy = is_new && unkept.busy();
  if (busy && unkept.refunds()) return unkept.decide().decision;
  const std::uint32_t at = is_new ? page.choose(address.home, now) : found;
  if (at == Page::none) return unkept.decide().decision;
  LogState before;
  if (is_live(page, found, now)) before = state_of<LogState>(page.entry(found));
  if (!is_new) page.begin(at);
  BlockLog log(page, tag, at, before, now);
  const std::uint64_t owed = busy ? unkept.units() : 0;
  if (owed > 0) static_cast<void>(law.debit(log, owed, now));
  const limit::Decision decision = apply_op(law, log, charge.op, charge.cost, now, charge.since);
  if (log.merges() > 0) merged_->fetch_add(log.merges(), std::memory_order_relaxed);
  const bool takes = charge.op != limit::Op::peek && decision.admitted && log.size() > 0;
  if (is_new && !takes) {
    page.free_chain(tag, log.state().head, 0);
  } else {
    if (is_new) page.begin(at);
    page.write(at, tag, entry_of(law, log.state(), law.full_at(log), now));
    page.commit(at);
  }
  const bool shares = log.starved() || (owed > 0 && !decision.admitted);
  return shares ? unkept.decide().decision : decision;
}

template <class L>
bool Ledger::admits(const L& law, const LedgerAddress& address, std::uint64_t cost, Instant now,
                    Nanos shift, const Unkept<L>& unkept) const noexcept {
  const Page page = this->page(address.page);
  const EntryTag tag = tag_of<L>(address);
  const std::uint32_t at = page.find(tag, address.home);
  if (at == Page::none && unkept.busy()) return unkept.admits();
  const bool known = is_live(page, at, now);
  if constexpr (LogLaw<L>) {
    const LogState state = known ? state_of<LogState>(page.entry(at)) : LogState{};
    return law.admits(BlockLog(page, tag, at, state, now), cost, now);
  } else {
    std::optional<typename L::State> state;
    if (known) state = state_of<typename L::State>(page.entry(at));
    return law.admits(state, cost, Instant{now.ns + shift});
  }
}

}  // namespace headgate::store
