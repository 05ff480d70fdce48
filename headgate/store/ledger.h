// The ledger: the states that are more than a timestamp (windows, the exponential law, logs and
// slots).
//
// The ledger has pages, each with its own lock; a request holds the locks of its charges' pages
// while it decides: of one page in each segment of the table. Locks instead of the cells' swaps,
// because these states have several words, and some have thousands. A lock is held for less than a
// microsecond, and is repaired if its holder dies.
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
#include "headgate/store/current.h"
#include "headgate/store/page.h"
#include "headgate/store/segment.h"
#include "headgate/store/unkept.h"

namespace headgate::store {

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

// Where a key may be: what selects its page and its entry in a ledger of any size.
struct LedgerAddress {
  EntryTag hash;            // an EntryTag with the kind 0
  std::uint64_t page_word;  // the high bits select the page
  std::uint64_t home_word;  // the high bits select the first entry in which the key may be
};

class Ledger {
 public:
  Ledger() = default;
  // `begin`, the table's first byte, its `segments` and `merged`, the number of records that were
  // merged because a log was full, are the caller's, shared with other processes. REQUIRES: the
  // memory is zeroed or contains ledgers.
  Ledger(std::byte* begin, const KnownSegments& segments,
         std::atomic<std::uint64_t>& merged) noexcept
      : begin_(begin), segments_(&segments), merged_(&merged) {}

  // Initialises the locks of a segment and undoes unfinished changes. REQUIRES: no other user of
  // the segment.
  static void take_over(std::byte* begin, const Segment& segment) noexcept;

  [[nodiscard]] LedgerAddress locate(const Hash128& hash) const noexcept {
    const EntryTag tag = hash.hi << 8;
    return {tag == 0 ? 0x100 : tag, hash.lo, hash.hi * 0x9e3779b97f4a7c15};
  }
  void prefetch(const LedgerAddress& address) const noexcept {
    const Segment& newest = segments_->newest();
    page_of(newest, address).prefetch(home_of(newest, address));
  }

  // Holds the locks of the pages of some keys until it is destroyed. It locks in the order of the
  // pages, so that there is no deadlock.
  class Hold {
   public:
    static constexpr std::size_t keys_max = 128;  // Bundle::charges_max

    explicit Hold(const Ledger& ledger) noexcept : ledger_(ledger) {}
    Hold(const Hold&) = delete;
    ~Hold() { unlock(); }
    void add(const LedgerAddress& address) noexcept { keys_[keys_count_++] = address.page_word; }
    // To be called once, after the last add().
    void lock() noexcept;
    // The segments whose pages are locked, the oldest first.
    [[nodiscard]] std::span<const Segment> segments() const noexcept { return segments_; }

   private:
    template <class Act>
    void for_each_page(Act act) const noexcept {
      for (std::size_t i = 0; i < pages_count_; ++i) {
        const Segment& segment = segments_[pages_[i] / LedgerLayout::pages_max];
        act(page(ledger_.begin_, segment, pages_[i] % LedgerLayout::pages_max));
      }
    }
    void unlock() noexcept;

    const Ledger& ledger_;
    std::span<const Segment> segments_;
    std::array<std::uint64_t, keys_max> keys_;  // their LedgerAddress::page_word
    std::size_t keys_count_ = 0;
    // The index of a page's segment, times LedgerLayout::pages_max, plus its index there.
    std::array<std::uint32_t, keys_max * Segments::most> pages_;
    std::size_t pages_count_ = 0;
  };

  // Changes a key's state by a charge. If there is no room for the key, `unkept` decides. The law
  // counts by a clock that is `shift` ahead of `clock`, the table's [ns]. REQUIRES: `hold` has
  // locked the key's pages.
  template <class L>
  limit::Decision apply(const Hold& hold, const L& law, const LedgerAddress& address,
                        const UnkeptCharge& charge, const Clock& clock, Nanos shift,
                        Unkept<L> unkept) const noexcept;

  // Whether apply() of a spend would admit. REQUIRES: `hold` has locked the key's pages.
  template <class L>
  [[nodiscard]] bool admits(const Hold& hold, const L& law, const LedgerAddress& address,
                            std::uint64_t cost, Instant now, Nanos shift,
                            const Unkept<L>& unkept) const noexcept;

  // Whether the key has an entry or can get one. REQUIRES: `hold` has locked the key's pages.
  template <class L>
  [[nodiscard]] bool keeps(const Hold& hold, const L&, const LedgerAddress& address,
                           Instant now) const noexcept {
    return find<L>(hold, address).has_value() || choose(hold, address, now).has_value();
  }

  [[nodiscard]] std::uint64_t entries() const noexcept;
  // How many blocks there are for logs.
  [[nodiscard]] std::uint64_t blocks() const noexcept;
  // The number of live keys, counted in 32 pages of each segment and scaled up to all. Locks each
  // of those pages for some microseconds.
  [[nodiscard]] std::uint64_t live(Instant now) const noexcept;

 private:
  // An entry, or the place for one.
  struct Spot {
    Page page;
    std::uint32_t at;
  };

  [[nodiscard]] static std::uint32_t scaled(std::uint64_t word, std::uint32_t count) noexcept {
    return static_cast<std::uint32_t>(u128{word} * count >> 64);
  }
  [[nodiscard]] static Page page(std::byte* begin, const Segment& segment,
                                 std::uint32_t i) noexcept {
    const LedgerLayout& layout = segment.ledger;
    return {begin + segment.ledger_at() + std::size_t{i} * layout.page_bytes, layout.entries,
            layout.blocks};
  }
  [[nodiscard]] Page page_of(const Segment& segment, const LedgerAddress& address) const noexcept {
    return page(begin_, segment, scaled(address.page_word, segment.ledger.pages));
  }
  [[nodiscard]] static std::uint32_t home_of(const Segment& segment,
                                             const LedgerAddress& address) noexcept {
    return scaled(address.home_word, segment.ledger.entries);
  }

  // The first of a key's pages, from the newest segment to the oldest, in which `search(page,
  // home)` finds an entry.
  template <class Search>
  [[nodiscard]] std::optional<Spot> first_spot(const Hold& hold, const LedgerAddress& address,
                                               Search search) const noexcept {
    const std::span<const Segment> segments = hold.segments();
    for (std::size_t i = segments.size(); i-- > 0;) {
      const Page page = page_of(segments[i], address);
      const std::uint32_t at = search(page, home_of(segments[i], address));
      if (at != Page::none) return Spot{page, at};
    }
    return std::nullopt;
  }
  // A key's entry.
  template <class L>
  [[nodiscard]] std::optional<Spot> find(const Hold& hold,
                                         const LedgerAddress& address) const noexcept {
    return first_spot(hold, address, [&](const Page& page, std::uint32_t home) {
      return page.find(tag_of<L>(address), home);
    });
  }
  // The entry for a new key.
  [[nodiscard]] std::optional<Spot> choose(const Hold& hold, const LedgerAddress& address,
                                           Instant now) const noexcept {
    return first_spot(hold, address,
                      [&](const Page& page, std::uint32_t home) { return page.choose(home, now); });
  }

  template <class L>
  [[nodiscard]] static EntryTag tag_of(const LedgerAddress& address) noexcept {
    return address.hash | kind_of<L>() | (LogLaw<L> ? log_kind : 0);
  }

  // Whether there is an entry and its state is still needed.
  [[nodiscard]] static bool is_live(const std::optional<Spot>& spot, Instant now) noexcept {
    return spot && !spot->page.entry(spot->at).expired(now);
  }

  template <class T>
  [[nodiscard]] static T state_of(const Entry& entry) noexcept {
    static_assert(sizeof(T) <= Entry::state_bytes);
    T state;
    std::memcpy(&state, entry.state, sizeof state);
    return state;
  }
  // In `first` of a log without records: there was no block for one, so that the sketch has what
  // the key took.
  static constexpr std::uint32_t starved_mark = 1;
  [[nodiscard]] static bool is_starved(const Spot& spot) noexcept {
    const LogState log = state_of<LogState>(spot.page.entry(spot.at));
    return log.size == 0 && log.first == starved_mark;
  }
  // The log of an entry. One that is not needed any more has no records, but its last block, if no
  // other key has taken that.
  [[nodiscard]] static LogState log_before(const std::optional<Spot>& spot, Instant now) noexcept {
    if (!spot) return {};
    const LogState log = state_of<LogState>(spot->page.entry(spot->at));
    return is_live(spot, now) ? log : LogState{.head = log.tail, .tail = log.tail};
  }
  // Until when an entry's state counts [ns, the table's time]. i128_max: it does not.
  [[nodiscard]] static Nanos full_before(const std::optional<Spot>& spot, Instant now) noexcept {
    return is_live(spot, now) ? spot->page.entry(spot->at).full_at() : i128_max;
  }
  // The same after a charge. `full_at`: as the law says. `before`, and `expected()`: as the entry
  // and the law say of the state before it. If the entry says less, it was written under another
  // quota or window. The key has its whole quota then, unless this charge adds to its state; so a
  // charge that adds nothing changes nothing. Corrects the decision if it says otherwise.
  template <class L, class Expected>
  [[nodiscard]] static Nanos full_after(const L& law, const UnkeptCharge& charge, Nanos full_at,
                                        Nanos before, Expected expected,
                                        limit::Decision& decision) noexcept {
    const bool takes = decision.admitted || law.denial_costs();
    const bool adds = charge.cost > 0 && charge.op != limit::Op::refund && takes;
    if (full_at <= before || (adds && charge.op != limit::Op::peek)) return full_at;
    if (expected() <= before) return full_at;
    if (!adds) {  // else the peek's decision is that of the charge
      const limit::Parameters numbers = law.parameters();
      const limit::Answer answer(numbers.quota, numbers.terms);
      decision = answer.full_within(decision, before - charge.now.ns);
    }
    return before;
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
  limit::Decision apply_words(const Hold& hold, const L& law, const LedgerAddress& address,
                              const UnkeptCharge& charge, const Clock& clock, Nanos shift,
                              Unkept<L> unkept) const noexcept;
  template <class L>
  limit::Decision apply_log(const Hold& hold, const L& law, const LedgerAddress& address,
                            const UnkeptCharge& charge, const Clock& clock,
                            Unkept<L> unkept) const noexcept;

  std::byte* begin_ = nullptr;
  const KnownSegments* segments_ = nullptr;
  std::atomic<std::uint64_t>* merged_ = nullptr;
};

template <class L>
limit::Decision Ledger::apply(const Hold& hold, const L& law, const LedgerAddress& address,
                              const UnkeptCharge& charge, const Clock& clock, Nanos shift,
                              Unkept<L> unkept) const noexcept {
  if constexpr (LogLaw<L>) {
    return apply_log(hold, law, address, charge, clock, unkept);
  } else {
    return apply_words(hold, law, address, charge, clock, shift, unkept);
  }
}

template <class L>
limit::Decision Ledger::apply_words(const Hold& hold, const L& law, const LedgerAddress& address,
                                    const UnkeptCharge& charge, const Clock& clock, Nanos shift,
                                    Unkept<L> unkept) const noexcept {
  const Instant now = charge.now;
  Instant at_law{now.ns + shift};
  std::optional<Spot> spot = find<L>(hold, address);
  const bool is_new = !spot;
  const bool busy = is_new && unkept.busy();
  if (busy && unkept.refunds()) return unkept.decide().decision;
  std::optional<typename L::State> state;
  if (is_live(spot, now)) state = state_of<typename L::State>(spot->page.entry(spot->at));
  if (state) at_law = current(law, *state, at_law, clock, shift);
  const Nanos before = full_before(spot, now);
  const std::uint64_t owed = busy ? unkept.units() : 0;
  if (owed > 0) state = law.debit(state, owed, at_law).state;
  limit::Step<typename L::State> step = apply_op(law, state, charge.op, charge.cost, at_law);
  if (is_new && (step.changed || busy)) {
    spot = choose(hold, address, now);
    if (!spot || (owed > 0 && !step.decision.admitted)) return unkept.decide().decision;
  }
  if (!step.changed && !state) return step.decision;
  const auto full_at = [&](const typename L::State& of) { return law.full_at(of) - shift; };
  const Nanos full = full_after(
      law, charge, full_at(step.changed ? step.state : *state), before,
      [&] { return full_at(*state); }, step.decision);
  if (!step.changed) return step.decision;
  const auto& [page, at] = *spot;
  page.begin(at);
  page.write(at, tag_of<L>(address), entry_of(law, step.state, full, now));
  page.commit(at);
  return step.decision;
}

template <class L>
limit::Decision Ledger::apply_log(const Hold& hold, const L& law, const LedgerAddress& address,
                                  const UnkeptCharge& charge, const Clock& clock,
                                  Unkept<L> unkept) const noexcept {
  const Instant now = charge.now;
  const EntryTag tag = tag_of<L>(address);
  std::optional<Spot> spot = find<L>(hold, address);
  const bool is_new = !spot;
  const bool is_shared = is_new || is_starved(*spot);
  const bool busy = is_shared && unkept.busy();
  if (busy && unkept.refunds()) return unkept.decide().decision;
  const LogState before = log_before(spot, now);
  const Nanos full = full_before(spot, now);
  if (is_new) spot = choose(hold, address, now);
  if (!spot) return unkept.decide().decision;
  const auto& [page, at] = *spot;
  if (!is_new) page.begin(at);
  BlockLog log(page, tag, at, before, now);
  const Instant at_law = current(law, log, now, clock);
  const std::uint64_t owed = busy ? unkept.units() : 0;
  if (owed > 0) static_cast<void>(law.debit(log, owed, at_law));
  limit::Decision decision = apply_op(law, log, charge.op, charge.cost, at_law, charge.since);
  if (log.merges() > 0) merged_->fetch_add(log.merges(), std::memory_order_relaxed);
  const bool admits = decision.admitted && !log.starved();
  const bool takes = charge.op != limit::Op::peek && admits && log.size() > 0;
  if (log.starved() || (is_shared && !takes)) log.discard();
  if (!is_new || takes) {
    if (is_new) page.begin(at);
    LogState after = log.state();
    if (log.starved() || (busy && !takes)) after.first = starved_mark;
    // No operation but one that adds makes this later.
    const Nanos expected = law.full_at(log);
    const Nanos full_at = full_after(
        law, charge, expected, full, [&] { return expected; }, decision);
    // What only looks under a shorter window than the state was written with does not end it.
    const bool lasts = is_live(spot, now) && !is_shared && !log.is_changed();
    page.write(at, tag, entry_of(law, after, lasts ? full : full_at, now));
    page.commit(at);
  }
  const bool shares = log.starved() || (owed > 0 && !decision.admitted);
  return shares ? unkept.decide().decision : decision;
}

template <class L>
bool Ledger::admits(const Hold& hold, const L& law, const LedgerAddress& address,
                    std::uint64_t cost, Instant now, Nanos shift,
                    const Unkept<L>& unkept) const noexcept {
  const std::optional<Spot> spot = find<L>(hold, address);
  if constexpr (LogLaw<L>) {
    const Page page = spot ? spot->page : page_of(hold.segments().back(), address);
    const std::uint32_t at = spot ? spot->at : Page::none;
    if ((!spot || is_starved(*spot)) && unkept.busy()) return unkept.admits();
    return law.admits(BlockLog(page, tag_of<L>(address), at, log_before(spot, now), now), cost,
                      now);
  } else {
    if (!spot && unkept.busy()) return unkept.admits();
    std::optional<typename L::State> state;
    if (is_live(spot, now)) state = state_of<typename L::State>(spot->page.entry(spot->at));
    return law.admits(state, cost, Instant{now.ns + shift});
  }
}

}  // namespace headgate::store
