#include "headgate/store/table.h"

#include <array>
#include <bitset>
#include <cassert>
#include <cstddef>
#include <cstring>
#include <new>
#include <utility>

#include "headgate/base/random.h"

namespace headgate::store {
namespace {

constexpr std::array<char, 8> magic{'h', 'e', 'a', 'd', 'g', 'a', 't', 'e'};
constexpr std::uint32_t format_version = 3;
constexpr std::size_t header_bytes = 4096;

// What a key that is new on one cells inherits from the other: a policy whose quota was changed
// may have left its state in the other kind of cell.
template <class CellTable>
class MigrationSource {
 public:
  MigrationSource(CellTable& other, const Hash128& hash) noexcept : other_(other), hash_(hash) {}

  [[nodiscard]] std::optional<Nanos> full_at() noexcept {
    if (other_.inserts() == 0) return std::nullopt;
    other_.locate(hash_, address_);
    const std::optional<Nanos> found = other_.full_at(address_);
    found_ = found.has_value();
    return found;
  }
  void moved() noexcept {
    if (found_) other_.remove(address_);
  }

 private:
  CellTable& other_;
  const Hash128& hash_;
  CellAddress address_;
  bool found_ = false;
};

// Apart, so that the frequent spend is small where it is inlined.
template <class L, class CellTable, class Other>
[[gnu::noinline]] void step_rarely(const L& law, CellTable& mine, Other& other,
                                   const CellAddress& address, limit::Op op, std::uint64_t cost,
                                   Instant now, limit::Decision& answer) noexcept {
  const auto step = [&](const auto& state) { return apply_op(law, state, op, cost, now); };
  answer = mine.transact(address, law, now, step, MigrationSource{other, address.hash});
}

// One function of several: which one is called is for the arguments to say.
template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

}  // namespace

// The first page. docs/table-format.md has its picture.
struct Table::Header {
  // Never changes once the file has its name.
  struct Fixed {
    std::array<char, 8> magic;
    std::uint32_t version;
    std::uint32_t header_bytes;
    std::uint64_t total_bytes;
    std::uint64_t narrow_buckets;
    std::uint64_t wide_buckets;
    LedgerLayout ledger;
    HashSecret secret;

    // Of what is not narrow.
    [[nodiscard]] std::size_t other_bytes() const noexcept {
      return wide_buckets * sizeof(Bucket<WideCell>) + ledger.bytes();
    }
    [[nodiscard]] bool fits(std::size_t room) const noexcept {
      return narrow_buckets >= 2 && wide_buckets >= 2 && ledger.plausible() &&
             wide_buckets <= room / sizeof(Bucket<WideCell>) && other_bytes() <= room &&
             narrow_buckets <= (room - other_bytes()) / sizeof(Bucket<NarrowCell>);
    }
  };
  Fixed fixed;
  std::uint64_t checksum;  // of `fixed`
  alignas(64) Anchor anchor;
  alignas(64) CellTableCounters narrow;
  alignas(64) CellTableCounters wide;
  alignas(64) LedgerCounters ledger;

  [[nodiscard]] static std::uint64_t checksum_of(const Fixed& fixed) noexcept {
    char bytes[sizeof(Fixed)];
    std::memcpy(bytes, &fixed, sizeof bytes);
    return public_hash({}, {bytes, sizeof bytes}).lo;
  }

  // Writes the header of a new table into zeroed memory.
  static void make(std::span<std::byte> memory, const TableOptions& options) noexcept {
    auto* header = new (memory.data()) Header{};
    const std::size_t room = memory.size() - header_bytes;
    const std::size_t wide_room = room / 64 * options.wide_share;
    const std::size_t ledger_room = room / 64 * options.ledger_share;
    Fixed& fixed = header->fixed;
    fixed.magic = magic;
    fixed.version = format_version;
    fixed.header_bytes = header_bytes;
    fixed.total_bytes = memory.size();
    fixed.ledger = LedgerLayout::in(ledger_room, options.log_share);
    // In a small table the least ledger is more than its share.
    const std::size_t wide_most = room - fixed.ledger.bytes() - 2 * sizeof(Bucket<NarrowCell>);
    fixed.wide_buckets =
        std::max<std::size_t>(2, std::min(wide_room, wide_most) / sizeof(Bucket<WideCell>));
    fixed.narrow_buckets = (room - fixed.other_bytes()) / sizeof(Bucket<NarrowCell>);
    fixed.secret = random_secret();
    header->checksum = checksum_of(fixed);
    Clock::begin(header->anchor, *options.clock);
  }

  // What is wrong with a file that claims to be a table; nullptr if nothing is.
  [[nodiscard]] static std::string fault(std::span<const std::byte> memory) {
    if (memory.size() < sizeof(Fixed) ||
        std::memcmp(memory.data(), magic.data(), magic.size()) != 0) {
      return "is not a headgate table; it was left as it is";
    }
    Fixed fixed;
    std::memcpy(&fixed, memory.data(), sizeof fixed);
    if (fixed.version != format_version) {
      return "is a headgate table of format " + std::to_string(fixed.version) +
             ", and this headgate reads format " + std::to_string(format_version) +
             "; remove the file to start with full quotas";
    }
    if (memory.size() < header_bytes || fixed.total_bytes != memory.size()) {
      return "is truncated or was resized: it has " + std::to_string(memory.size()) +
             " bytes, and its header says " + std::to_string(fixed.total_bytes) +
             "; remove the file to start with full quotas";
    }
    std::uint64_t checksum = 0;
    std::memcpy(&checksum, memory.data() + offsetof(Header, checksum), sizeof checksum);
    const std::size_t room = memory.size() - header_bytes;
    if (checksum != checksum_of(fixed) || fixed.header_bytes != header_bytes || !fixed.fits(room)) {
      return "has a damaged header; remove the file to start with full quotas";
    }
    return {};
  }
};

Result<std::unique_ptr<Table>, std::string> Table::open(const TableOptions& options) {
  // As docs/table-format.md draws it.
  static_assert(sizeof(Header) <= header_bytes && offsetof(Header, checksum) == 72 &&
                offsetof(Header, anchor) == 128 && offsetof(Header, narrow) == 192 &&
                offsetof(Header, wide) == 256 && offsetof(Header, ledger) == 320);
  if (options.memory < TableOptions::memory_min) {
    return Failure<std::string>("a table needs at least " +
                                std::to_string(TableOptions::memory_min) + " bytes of memory");
  }
  const std::size_t bytes = options.memory / 4096 * 4096;
  if (options.file.empty()) {
    auto region = Region::anonymous(bytes, options.sharing);
    if (!region) return Failure<std::string>(region.error());
    Header::make(region->bytes(), options);
    std::unique_ptr<Table> table(new Table(std::move(*region), *options.clock));
    table->ledger_.take_over();
    return table;
  }
  for (;;) {
    auto found = Region::file(options.file);
    if (!found) return Failure<std::string>(found.error());
    if (!found->has_value()) {
      const auto made = Region::create(
          options.file, bytes,
          [](std::span<std::byte> memory, void* context) {
            Header::make(memory, *static_cast<const TableOptions*>(context));
          },
          const_cast<TableOptions*>(&options));
      if (!made) return Failure<std::string>(made.error());
      continue;
    }
    Region& region = **found;
    if (const std::string fault = Header::fault(region.bytes()); !fault.empty()) {
      return Failure<std::string>(options.file + ": " + fault);
    }
    if (region.bytes().size() != bytes) {
      return Failure<std::string>(options.file + ": is a table of " +
                                  std::to_string(region.bytes().size()) + " bytes, and " +
                                  std::to_string(bytes) +
                                  " were asked for; ask for its size, or remove the file to start "
                                  "with full quotas");
    }
    const bool alone = region.join();
    std::unique_ptr<Table> table(new Table(std::move(region), *options.clock));
    if (alone) table->ledger_.take_over();
    table->region_.share();
    return table;
  }
}

Table::Table(Region region, const ClockSource& clock) noexcept
    : region_(std::move(region)),
      header_(reinterpret_cast<Header*>(region_.bytes().data())),
      clock_(header_->anchor, clock) {
  std::byte* at = region_.bytes().data() + header_bytes;
  const Header::Fixed& fixed = header_->fixed;
  narrow_ = {{reinterpret_cast<Bucket<NarrowCell>*>(at), fixed.narrow_buckets}, header_->narrow};
  at += fixed.narrow_buckets * sizeof(Bucket<NarrowCell>);
  wide_ = {{reinterpret_cast<Bucket<WideCell>*>(at), fixed.wide_buckets}, header_->wide};
  at += fixed.wide_buckets * sizeof(Bucket<WideCell>);
  ledger_ = {at, fixed.ledger, header_->ledger};
}

const HashSecret& Table::secret() const noexcept { return header_->fixed.secret; }

TableStats Table::stats() const noexcept {
  constexpr std::size_t sample = 8192;
  const Instant at = now();
  TableStats stats;
  stats.memory = region_.bytes().size();
  stats.cells = narrow_.cells() + wide_.cells() + ledger_.entries();
  stats.live = narrow_.live(at, sample) + wide_.live(at, sample) + ledger_.live(at);
  for (const CellTableCounters* counters : {&header_->narrow, &header_->wide}) {
    stats.evictions += counters->evictions.load(std::memory_order_relaxed);
    stats.unkept += counters->unkept.load(std::memory_order_relaxed);
  }
  stats.evictions += header_->ledger.evictions.load(std::memory_order_relaxed);
  stats.unkept += header_->ledger.unkept.load(std::memory_order_relaxed);
  stats.merged = header_->ledger.merged.load(std::memory_order_relaxed);
  return stats;
}

// Calls act(law, where its states are, where the other kind of cell is) for laws with cells,
// act(law, ledger) for those of the ledger, and act(law) for the one without state. The frequent
// ones come first.
template <class Act>
[[gnu::always_inline]] inline auto Table::at_home(const limit::Law& law, Act act) noexcept {
  if (const auto* whole = std::get_if<limit::LinearWhole>(&law)) return act(*whole, narrow_, wide_);
  if (const auto* exact = std::get_if<limit::LinearExact>(&law)) return act(*exact, wide_, narrow_);
  return std::visit(
      [&]<class L>(const L& other) {
        if constexpr (in_ledger<L>) {
          return act(other, ledger_);
        } else {
          return act(limit::Closed{});
        }
      },
      law);
}

// The moment by the clock that the law goes by: windows that are aligned follow the wall clock.
template <class L>
Nanos Table::shift(const L& law) const noexcept {
  if constexpr (requires { law.aligned(); }) {
    if (law.aligned()) return clock_.to_wall();
  }
  return 0;
}

// Inlined into both callers: a tenth of a decision's instructions would go into the calls. Each law
// writes the answer itself: a decision that they all return waits on the stack to be copied, which
// takes as long as the arithmetic.
template <Table::Pages pages>
[[gnu::always_inline]] inline void Table::apply(const limit::Charge& charge, limit::Op op,
                                                std::uint64_t cost, const CellAddress& address,
                                                Instant now, limit::Decision& answer) noexcept {
  const auto cell = [&] [[gnu::always_inline]] (const auto& law, auto& mine, auto& other) {
    if (op == limit::Op::spend && mine.spend(address, law, cost, now, answer)) return;
    step_rarely(law, mine, other, address, op, cost, now, answer);
  };
  const auto entry = [&](const auto& law, Ledger& ledger) {
    const LedgerAddress where = ledger.locate(address.hash);
    Ledger::Hold hold(ledger);
    if constexpr (pages == Pages::to_be_held) {
      hold.add(where.page);
      hold.lock();
    }
    answer = ledger.apply(law, where, op, cost, charge.since, now, shift(law));
  };
  const auto closed = [&](const limit::Closed& law) {
    const bool asks = op == limit::Op::spend || op == limit::Op::peek;
    answer = law.decide(asks ? cost : 0);
  };
  at_home(*charge.law, Overloaded{cell, entry, closed});
}

[[gnu::always_inline]] inline Hash128 Table::hash_of(std::string_view key) const noexcept {
  return table_hash(header_->fixed.secret, key);
}

// Asks for what a charge needs from memory. The hash comes before the law is looked at: in one
// address it is inlined, which the compiler declines to do in one address for each law.
[[gnu::always_inline]] inline void Table::locate(const limit::Charge& charge,
                                                 CellAddress& address) noexcept {
  const Hash128 hash = charge.hash != 0 ? spread(charge.hash) : hash_of(charge.key);
  at_home(*charge.law, Overloaded{[&] [[gnu::always_inline]] (const auto&, auto& mine, auto&) {
                                    mine.locate(hash, address);
                                    mine.prefetch(address);
                                  },
                                  [&](const auto&, Ledger& ledger) {
                                    address.hash = hash;
                                    ledger.prefetch(ledger.locate(hash));
                                  },
                                  [](const limit::Closed&) {}});
}

// Whether a charge's state is in the ledger; then its page is added to what is to be held.
bool Table::add_to(Ledger::Hold& hold, const limit::Charge& charge,
                   const CellAddress& address) noexcept {
  return at_home(*charge.law, Overloaded{[](const auto&, auto&, auto&) { return false; },
                                         [&](const auto&, Ledger& ledger) {
                                           hold.add(ledger.locate(address.hash).page);
                                           return true;
                                         },
                                         [](const limit::Closed&) { return false; }});
}

void Table::prefetch(std::span<limit::Charge> charges) noexcept {
  CellAddress address;
  for (limit::Charge& charge : charges) {
    charge.hash = hash_of(charge.key).lo;
    locate(charge, address);
  }
}

void Table::take(std::span<Bundle> bundles, std::optional<Instant>& now, Completion done) noexcept {
  std::array<CellAddress, Bundle::charges_max> places;
  while (!bundles.empty()) {
    // As many bundles as have places here; what they need is asked from memory before any decision.
    assert(bundles[0].charges.size() <= places.size());
    std::size_t whole = 0;
    std::size_t charges = 0;
    while (whole < bundles.size() && charges + bundles[whole].charges.size() <= places.size()) {
      for (const limit::Charge& charge : bundles[whole++].charges) {
        locate(charge, places[charges++]);
      }
    }
    if (charges > 1) {
      charges = 0;
      for (const Bundle& bundle : bundles.first(whole)) {
        for (const limit::Charge& charge : bundle.charges) {
          CellAddress& address = places[charges++];
          at_home(*charge.law,
                  Overloaded{[&](const auto&, auto& mine, auto&) { mine.prefetch_rest(address); },
                             [](const auto&, Ledger&) {}, [](const limit::Closed&) {}});
        }
      }
    }
    if (!now) now = clock_.now();  // while memory is on its way
    const Instant at = *now;
    const CellAddress* address = places.data();
    for (Bundle& bundle : bundles.first(whole)) {
      if (bundle.charges.size() == 1) {
        const limit::Charge& charge = bundle.charges[0];
        apply<Pages::to_be_held>(charge, charge.op, charge.cost, *address, at, bundle.decisions[0]);
        bundle.admitted = bundle.decisions[0].admitted;
      } else {
        decide(bundle, {address, bundle.charges.size()}, at);
      }
      address += bundle.charges.size();
    }
    bundles = bundles.subspan(whole);
  }
  done.call(done.context);
}

// A guess, as good as the moment: a cell may be changing.
bool Table::seems_admissible(const limit::Charge& charge, const CellAddress& address,
                             Instant now) noexcept {
  if (charge.op == limit::Op::refund || charge.op == limit::Op::debit) return true;
  if (charge.op == limit::Op::peek && charge.cost == 0) return true;
  return at_home(
      *charge.law,
      Overloaded{[&](const auto& law, const auto& mine, const auto&) {
                   return law.admits(mine.glance(address, law), charge.cost, now);
                 },
                 [&](const auto& law, Ledger& ledger) {
                   return ledger.admits(law, ledger.locate(address.hash), charge.cost, now,
                                        shift(law));
                 },
                 [&](const limit::Closed& law) { return law.decide(charge.cost).admitted; }});
}

void Table::decide(Bundle& bundle, std::span<const CellAddress> places, Instant now) noexcept {
  const auto& charges = bundle.charges;
  const auto apply_to = [&] [[gnu::noinline]] (std::size_t i, limit::Op op, std::uint64_t cost) {
    apply<Pages::held>(charges[i], op, cost, places[i], now, bundle.decisions[i]);
    return bundle.decisions[i].admitted;
  };
  // What is in the ledger is held: nobody else changes it before this request is through.
  Ledger::Hold hold(ledger_);
  std::bitset<Bundle::charges_max> held;
  for (std::size_t i = 0; i < charges.size(); ++i) {
    if (add_to(hold, charges[i], places[i])) held.set(i);
  }
  if (held.any()) hold.lock();

  // Look first: where a charge would be denied, nobody else is disturbed by taking and giving back.
  // Most requests pass, so a glance without numbers comes before the look that has them.
  bool looked = false;
  bool admitted = true;
  for (std::size_t i = 0; i < charges.size(); ++i) {
    if (!seems_admissible(charges[i], places[i], now)) admitted = false;
  }
  if (!admitted) {
    looked = admitted = true;
    for (std::size_t i = 0; i < charges.size(); ++i) {
      const limit::Op op = charges[i].op == limit::Op::spend ? limit::Op::peek : charges[i].op;
      if (!apply_to(i, op, charges[i].cost)) admitted = false;
    }
  }

  // Cells first: only they can fail now, if another request came in between. What is held gives
  // what it has promised, so it never has to take anything back.
  std::bitset<Bundle::charges_max> taken;
  std::optional<std::size_t> raced;
  const auto take_all = [&](bool of_held) {
    for (std::size_t i = 0; admitted && i < charges.size(); ++i) {
      if (held.test(i) != of_held) continue;
      if (charges[i].op == limit::Op::spend || !looked) {
        admitted = apply_to(i, charges[i].op, charges[i].cost);
        if (!admitted) raced = i;
      }
      if (admitted) taken.set(i);
    }
  };
  take_all(false);
  if (held.any()) take_all(true);
  bundle.admitted = admitted;
  if (admitted) return;

  // Give back what was taken; let denials cost what they cost; show what is there of the rest.
  for (std::size_t i = 0; i < charges.size(); ++i) {
    const limit::Charge& charge = charges[i];
    const bool spends = charge.op == limit::Op::spend;
    if (raced == i) continue;
    if (spends && taken.test(i)) {
      apply_to(i, limit::Op::refund, charge.cost);
    } else if (spends || charge.op == limit::Op::peek) {
      if (!looked && !taken.test(i)) apply_to(i, limit::Op::peek, charge.cost);
      const limit::Decision seen = bundle.decisions[i];
      if (seen.admitted) {
        apply_to(i, limit::Op::peek, 0);
      } else if (spends && limit::denial_costs(*charge.law) &&
                 apply_to(i, limit::Op::spend, charge.cost)) {  // after a refund by another
        apply_to(i, limit::Op::refund, charge.cost);
        bundle.decisions[i] = seen;
      }
    } else if (!looked && !taken.test(i)) {
      apply_to(i, charge.op, charge.cost);
    }
  }
}

}  // namespace headgate::store
