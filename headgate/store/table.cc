#include "headgate/store/table.h"

#include <array>
#include <bitset>
#include <cassert>
#include <cstddef>
#include <cstring>
#include <new>
#include <utility>

#include "headgate/base/random.h"
#include "headgate/store/current.h"
#include "headgate/store/former_header.h"

namespace headgate::store {
namespace {

constexpr std::array<char, 8> magic{'h', 'e', 'a', 'd', 'g', 'a', 't', 'e'};
constexpr std::uint32_t format_version = 5;
constexpr std::size_t header_bytes = 4096;  // a memory page, so that the cells start on one
// The part of the memory that the sketch gets. With more of it, more of the new keys of a flood are
// admitted, but fewer keys have a place of their own (`build/release/bin/compare_table`).
constexpr std::size_t sketch_share = 64;

// How much a table can grow. Its sketch stays as large as it was made, so no more than this; and
// a process has at most 128 TiB of address space.
constexpr std::size_t growth_most = 64;
constexpr std::size_t reach_max = std::size_t{1} << 44;

std::size_t reach_of(std::size_t bytes) noexcept {
  return std::max(bytes, std::min(bytes, reach_max / growth_most) * growth_most);
}

std::size_t in_whole_pages(std::size_t bytes) noexcept { return bytes / 4096 * 4096; }

// Where a key that is new in one cell table may have its state: in the table of the other kind of
// cell, if its policy's quota was changed.
template <class CellTable>
class MigrationSource {
 public:
  MigrationSource(CellTable& other, const Hash128& hash) noexcept : other_(other), hash_(hash) {}

  // When the key's quota is full again by its old state [ns]; std::nullopt if it has none.
  [[nodiscard]] std::optional<Nanos> full_at() noexcept {
    if (other_.inserts() == 0) return std::nullopt;
    other_.locate(hash_, 0, address_);
    const std::optional<Nanos> found = other_.full_at(address_);
    found_ = found.has_value();
    return found;
  }
  // Removes the old state. To be called once the key has a cell of the new kind.
  void moved() noexcept {
    if (found_) other_.remove(address_);
  }

 private:
  CellTable& other_;
  const Hash128& hash_;
  CellAddress address_;
  bool found_ = false;
};

// Every operation but the most frequent spend, which CellTable::spend() does. Not inlined, so that
// the code around that spend stays small; `build/release/bin/steps_bench` measures the effect.
template <class L, class CellTable, class Other>
[[gnu::noinline]] void apply_in_general(const L& law, CellTable& mine, Other& other, Sketch& sketch,
                                        const CellAddress& address, const Clock& clock,
                                        limit::Op op, std::uint64_t cost, Instant since,
                                        Instant now, limit::Decision& answer) noexcept {
  // What gives all back cuts nothing, and leaves a quota that is full at the time of the request.
  const bool gives_all = op == limit::Op::refund && cost >= limit::Quota::cost_max;
  const auto step = [&](const auto& state) {
    const bool is_cut = state && !gives_all;
    return apply_op(law, state, op, cost, is_cut ? current(law, *state, now, clock) : now);
  };
  const UnkeptCharge charge{address.hash, room_of<L>(), op, cost, since, now};
  answer = mine.transact(address, law, now, step, MigrationSource{other, address.hash},
                         Unkept{sketch, law, charge});
}

// Several functions as one; the arguments of a call select which of them it calls.
template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

}  // namespace

// The first header_bytes of a table. docs/table-format.md has its picture.
struct Table::Header {
  // Never changes after the file has got its name.
  struct Fixed {
    std::array<char, 8> magic;
    std::uint32_t version;
    std::uint32_t header_bytes;
    std::uint64_t reach;  // the table can grow to so many bytes
    HashSecret secret;
  };
  Fixed fixed;
  std::uint64_t checksum;  // of `fixed`
  // The size of the file that a process is about to make, or 0. If it dies, the file may be larger
  // than its segments.
  std::atomic<std::uint64_t> growing;
  Segments segments;
  alignas(64) Anchor anchor;
  alignas(64) std::atomic<std::uint64_t> narrow_inserts;
  alignas(64) std::atomic<std::uint64_t> wide_inserts;
  alignas(64) std::atomic<std::uint64_t> merged;
  alignas(64) SketchHead sketch;
  alignas(64) HealingLock growth;  // of those who make the table grow

  [[nodiscard]] std::byte* begin() noexcept { return reinterpret_cast<std::byte*>(this); }
  [[nodiscard]] std::size_t total_bytes() const noexcept { return segments.newest().end; }

  [[nodiscard]] static std::uint64_t checksum_of(const Fixed& fixed) noexcept {
    char bytes[sizeof(Fixed)];
    std::memcpy(bytes, &fixed, sizeof bytes);
    return public_hash({}, {bytes, sizeof bytes}).lo;
  }

  // Writes a header with this segment into zeroed memory.
  static Header* begin_with(void* memory, const Segment& segment, const HashSecret& secret,
                            std::size_t reach) noexcept {
    auto* header = new (memory) Header{};
    header->fixed = {magic, format_version, header_bytes, reach, secret};
    header->checksum = checksum_of(header->fixed);
    header->segments.publish(segment);
    return header;
  }

  // Writes a new table's header and locks into zeroed memory. REQUIRES: it is the caller's alone.
  static void make(std::span<std::byte> memory, const TableOptions& options,
                   std::size_t reach) noexcept {
    // A whole number of cache lines.
    const std::size_t sketch_cells =
        std::max((memory.size() - header_bytes) / sketch_share / 64 * 8, Sketch::cells_min);
    auto* header = begin_with(
        memory.data(), Segment::divide(header_bytes, memory.size(), shares(options), sketch_cells),
        random_secret(), reach);
    Clock::begin(header->anchor, *options.clock);
    header->take_over();
  }

  // Brings a file of the former format to this one: it gets another header. REQUIRES: it is one.
  static Result<void, std::string> upgrade(const Region& region) {
    const auto alone = region.join();  // waits while another process does this
    if (!alone) return Failure<std::string>(alone.error());
    const FormerHeader* former = FormerHeader::in(region.bytes());
    if (former == nullptr) return {};
    const std::string is_former =
        "is a headgate table of format " + std::to_string(FormerHeader::format);
    if (!*alone) {
      return Failure<std::string>(
          is_former + ", and an older headgate uses it; this headgate brings it to format " +
          std::to_string(format_version) + " when that one has ended");
    }
    if (!former->plausible(region.bytes().size())) {
      return Failure<std::string>(is_former +
                                  " with a damaged header or another size than that says; "
                                  "remove the file to start with full quotas");
    }
    alignas(Header) std::array<std::byte, header_bytes> page{};
    auto* header = begin_with(page.data(), former->segment(), former->fixed.secret,
                              reach_of(former->fixed.total_bytes));
    // Nobody changes these now.
    std::memcpy(&header->anchor, &former->anchor, sizeof(Anchor));
    header->narrow_inserts = former->narrow_inserts.load();
    header->wide_inserts = former->wide_inserts.load();
    header->merged = former->merged.load();
    header->sketch.classes = former->sketch.classes.load();
    header->sketch.busy_until = former->sketch.busy_until.load();
    header->sketch.unkept = former->sketch.unkept.load();
    return region.replace_begin(page);
  }

  [[nodiscard]] static SegmentShares shares(const TableOptions& options) noexcept {
    return {options.wide_share, options.ledger_share, options.log_share};
  }

  // Makes all locks new. REQUIRES: no other process uses the table.
  void take_over() noexcept {
    growth.make();
    for (const Segment& segment : segments.present()) Ledger::take_over(begin(), segment);
  }

  // What is wrong with a file that is to be opened as a table; empty if nothing is.
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
    if (memory.size() < header_bytes) {
      return "is truncated: it has " + std::to_string(memory.size()) +
             " bytes, and the header alone has " + std::to_string(header_bytes) +
             "; remove the file to start with full quotas";
    }
    const auto& header = *reinterpret_cast<const Header*>(memory.data());
    if (!header.plausible()) {
      return "has a damaged header; remove the file to start with full quotas";
    }
    return {};
  }

  // What is wrong with the size of a table's file, which another process may be making grow; empty
  // if nothing is.
  [[nodiscard]] std::string fault_of_size(const Region& region) const {
    for (;;) {
      const std::size_t total = total_bytes();
      const std::size_t bytes = region.file_bytes();  // after `total`: a file grows first
      if (bytes == total || (bytes > total && growing.load() != 0)) return {};
      if (total_bytes() != total) continue;  // it has grown meanwhile
      return "is truncated or was resized: it has " + std::to_string(bytes) +
             " bytes, and its header says " + std::to_string(total) +
             "; remove the file to start with full quotas";
    }
  }

  [[nodiscard]] bool plausible() const noexcept {
    const std::uint64_t count = segments.count.load();
    if (checksum != checksum_of(fixed) || fixed.header_bytes != header_bytes || count < 1 ||
        count > Segments::most) {
      return false;
    }
    std::uint64_t end = header_bytes;
    for (const Segment& segment : segments.present()) {
      if (segment.begin != end || !segment.plausible()) return false;
      end = segment.end;
    }
    return segments.all[0].sketch_cells >= Sketch::cells_min && end <= fixed.reach;
  }
};

Result<std::unique_ptr<Table>, std::string> Table::open(const TableOptions& options) {
  // The offsets of docs/table-format.md.
  static_assert(sizeof(Header) <= header_bytes && offsetof(Header, checksum) == 40 &&
                offsetof(Header, growing) == 48 && offsetof(Header, segments) == 64 &&
                offsetof(Header, anchor) == 640 && offsetof(Header, narrow_inserts) == 704 &&
                offsetof(Header, wide_inserts) == 768 && offsetof(Header, merged) == 832 &&
                offsetof(Header, sketch) == 896 && offsetof(Header, growth) == 960);
  if (options.memory < TableOptions::memory_min) {
    return Failure<std::string>("a table needs at least " +
                                std::to_string(TableOptions::memory_min) + " bytes of memory");
  }
  const std::size_t bytes = in_whole_pages(options.memory);
  if (options.file.empty()) {
    auto region = Region::anonymous(bytes, options.sharing, reach_of(bytes));
    if (!region) return Failure<std::string>(region.error());
    Header::make(region->bytes(), options, region->reach());
    return std::unique_ptr<Table>(new Table(std::move(*region), options));
  }
  for (;;) {
    auto found = Region::file(options.file);
    if (!found) return Failure<std::string>(found.error());
    if (found->has_value()) return join(std::move(**found), options);
    const auto made = Region::create(
        options.file, bytes,
        [](std::span<std::byte> memory, void* context) {
          Header::make(memory, *static_cast<const TableOptions*>(context), reach_of(memory.size()));
        },
        const_cast<TableOptions*>(&options));
    if (!made) return Failure<std::string>(made.error());
  }
}

Result<std::unique_ptr<Table>, std::string> Table::join(Region region,
                                                        const TableOptions& options) {
  const auto failed = [&](const std::string& why) {
    return Failure<std::string>(options.file + ": " + why);
  };
  if (FormerHeader::in(region.bytes()) != nullptr) {
    const auto upgraded = Header::upgrade(region);
    if (!upgraded) return failed(upgraded.error());
  }
  if (const std::string fault = Header::fault(region.bytes()); !fault.empty()) {
    return failed(fault);
  }
  const auto alone = region.join();
  if (!alone) return failed(alone.error());
  const auto* header = reinterpret_cast<const Header*>(region.bytes().data());
  if (const std::string fault = header->fault_of_size(region); !fault.empty()) {
    return failed(fault);
  }
  if (const auto reserved = region.reserve(header->fixed.reach); !reserved) {
    return failed(reserved.error());
  }
  std::unique_ptr<Table> table(new Table(std::move(region), options));
  if (*alone) table->header_->take_over();
  if (const auto shared = table->region_.share(); !shared) return failed(shared.error());
  if (const auto grown = options.grow ? table->grow(options) : Result<void, std::string>{};
      !grown) {
    return Failure<std::string>(grown.error());
  }
  table->guard_.emplace(std::span(table->region_.bytes().data(), table->region_.reach()),
                        options.file, fill_spare, table.get());
  return table;
}

Table::Table(Region region, const TableOptions& options) noexcept
    : region_(std::move(region)),
      file_(options.file),
      header_(reinterpret_cast<Header*>(region_.bytes().data())),
      clock_(header_->anchor, *options.clock),
      segments_(header_->segments),
      narrow_(header_->begin(), segments_, header_->narrow_inserts),
      wide_(header_->begin(), segments_, header_->wide_inserts),
      ledger_(header_->begin(), segments_, header_->merged) {
  const PartRange sketch = segments_.present().front().sketch();
  sketch_ = {{reinterpret_cast<DebtCell*>(header_->begin() + sketch.at), sketch.count},
             header_->sketch};
}

Result<void, std::string> Table::grow(const TableOptions& options) {
  const std::size_t bytes = in_whole_pages(options.memory);
  header_->growth.lock([] {});  // one that died has published its segment or not: nothing to heal
  const auto result = grow_to(bytes, Header::shares(options));
  header_->growth.unlock();
  if (result) return {};
  return Failure<std::string>((file_.empty() ? "the table" : file_) + ": " + result.error());
}

// REQUIRES: header_->growth is locked.
Result<void, std::string> Table::grow_to(std::size_t bytes, const SegmentShares& shares) {
  const std::size_t total = segments_.newest().end;
  if (bytes <= total) return {};
  const auto refused = [&](const std::string& why) {
    return Failure<std::string>("has " + std::to_string(total) + " bytes and cannot get " +
                                std::to_string(bytes) + ": " + why);
  };
  if ((guard_ && guard_->lost()) || !header_->plausible()) return refused("its file was truncated");
  if (bytes - total < growth_min) {
    return refused("it can grow by at least " + std::to_string(growth_min) + " bytes");
  }
  if (bytes > header_->fixed.reach) {
    return refused("it can grow to at most " + std::to_string(header_->fixed.reach) + " bytes");
  }
  if (header_->segments.present().size() == Segments::most) {
    return refused("it has grown " + std::to_string(Segments::most - 1) + " times already");
  }
  header_->growing.store(bytes);
  if (const auto grown = region_.grow(total, bytes); !grown) {
    header_->growing.store(0);
    return refused(grown.error());
  }
  const Segment segment = Segment::divide(total, bytes, shares, 0);
  Ledger::take_over(header_->begin(), segment);
  header_->segments.publish(segment);
  header_->growing.store(0);
  return {};
}

// An empty table with the header of this one, so that hashes and times stay the same.
void Table::fill_spare(std::span<std::byte> memory, void* table) noexcept {
  std::memcpy(memory.data(), static_cast<Table*>(table)->header_, header_bytes);
  reinterpret_cast<Header*>(memory.data())->take_over();
}

const HashSecret& Table::secret() const noexcept { return header_->fixed.secret; }

TableStats Table::stats() const noexcept {
  // Buckets per kind of cell. Reading one can be a cache miss of 70 to 270 ns: about a millisecond.
  constexpr std::size_t sample = 8192;
  const Instant at = now();
  TableStats stats;
  stats.memory = segments_.newest().end;
  stats.narrow = {narrow_.cells(), narrow_.live(at, sample)};
  stats.wide = {wide_.cells(), wide_.live(at, sample)};
  stats.ledger = {ledger_.entries(), ledger_.live(at)};
  stats.blocks = ledger_.blocks();
  stats.unkept = sketch_.unkept();
  stats.merged = header_->merged.load(std::memory_order_relaxed);
  stats.file_lost = (guard_ && guard_->lost()) || region_.has_lost_name();
  return stats;
}

// Calls the overload of `act` that fits the law: act(law, its cell table, the other cell table) for
// the linear laws, act(law, ledger) for those with a state in the ledger, and act(closed) for the
// law without a state. The most frequent laws are compared first.
template <class Act>
[[gnu::always_inline]] inline auto Table::dispatch(const limit::Law& law, Act act) noexcept {
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

// What to add to the table's time to get the time by which the law counts [ns]: aligned windows
// follow the wall clock.
template <class L>
Nanos Table::shift(const L& law) const noexcept {
  if constexpr (requires { law.aligned(); }) {
    if (law.aligned()) return clock_.to_wall();
  }
  return 0;
}

// Applies `op` to the state of one charge. Inlined into both callers: the calls would be a tenth of
// a decision's instructions. Each law writes into `answer` itself: a decision that is returned is
// copied by way of the stack, which takes as long as the arithmetic.
// `build/release/bin/steps_bench` measures both.
template <class Pages>
[[gnu::always_inline]] inline void Table::apply(const Charge& charge, limit::Op op,
                                                std::uint64_t cost, const CellAddress& address,
                                                Instant now, const Pages& pages,
                                                limit::Decision& answer) noexcept {
  const auto cell = [&] [[gnu::always_inline]] (const auto& law, auto& mine, auto& other) {
    if (op == limit::Op::spend && mine.spend(address, law, cost, now, answer)) return;
    apply_in_general(law, mine, other, sketch_, address, clock_, op, cost, charge.since, now,
                     answer);
  };
  const auto entry = [&](const auto& law, Ledger& ledger) {
    const LedgerAddress where = ledger.locate(address.hash);
    const UnkeptCharge mine{
        address.hash, room_of<std::decay_t<decltype(law)>>(), op, cost, charge.since, now};
    const Unkept unkept{sketch_, law, mine};
    if constexpr (std::is_same_v<Pages, ToBeLocked>) {
      Ledger::Hold hold(ledger);
      hold.add(where);
      hold.lock();
      answer = ledger.apply(hold, law, where, mine, clock_, shift(law), unkept);
    } else {
      answer = ledger.apply(pages, law, where, mine, clock_, shift(law), unkept);
    }
  };
  const auto closed = [&](const limit::Closed& law) {
    const bool decides = op == limit::Op::spend || op == limit::Op::peek;
    answer = law.decide(decides ? cost : 0);
  };
  dispatch(*charge.law, Overloaded{cell, entry, closed});
}

[[gnu::always_inline]] inline Hash128 Table::hash_of(std::string_view key) const noexcept {
  return table_hash(header_->fixed.secret, key);
}

// Computes where a charge's state is and prefetches it. Computes the hash before it dispatches on
// the law: the compiler inlines the hash at one place, but not at one place per law
// (`build/release/bin/steps_bench` measures the difference).
[[gnu::always_inline]] inline void Table::locate(const Charge& charge,
                                                 CellAddress& address) noexcept {
  const Hash128 hash = charge.key_hash != 0 ? expand_hash(charge.key_hash) : hash_of(charge.key);
  dispatch(*charge.law, Overloaded{[&] [[gnu::always_inline]] (const auto& law, auto& mine, auto&) {
                                     mine.locate(hash, law.window_class(), address);
                                     mine.prefetch(address);
                                   },
                                   [&](const auto&, Ledger& ledger) {
                                     address.hash = hash;
                                     ledger.prefetch(ledger.locate(hash));
                                   },
                                   [](const limit::Closed&) {}});
}

void Table::prefetch(std::span<Charge> charges) noexcept {
  CellAddress address;
  for (Charge& charge : charges) {
    charge.key_hash = hash_of(charge.key).lo;
    locate(charge, address);
  }
}

void Table::take(std::span<Bundle> bundles, std::optional<Instant>& now, Completion done) noexcept {
  std::array<CellAddress, Bundle::charges_max> addresses;
  while (!bundles.empty()) {
    // As many bundles as fit into `addresses`; all their memory is prefetched before any decision.
    assert(bundles[0].charges.size() <= addresses.size());
    std::size_t whole = 0;
    std::size_t charges = 0;
    while (whole < bundles.size() && charges + bundles[whole].charges.size() <= addresses.size()) {
      for (const Charge& charge : bundles[whole++].charges) {
        locate(charge, addresses[charges++]);
      }
    }
    if (charges > 1) {
      charges = 0;
      for (const Bundle& bundle : bundles.first(whole)) {
        for (const Charge& charge : bundle.charges) {
          CellAddress& address = addresses[charges++];
          dispatch(*charge.law,
                   Overloaded{[&](const auto&, auto& mine, auto&) { mine.prefetch_rest(address); },
                              [](const auto&, Ledger&) {}, [](const limit::Closed&) {}});
        }
      }
    }
    if (!now) now = clock_.now();  // while the prefetched memory arrives
    const Instant at = *now;
    const CellAddress* address = addresses.data();
    for (Bundle& bundle : bundles.first(whole)) {
      if (bundle.charges.size() == 1) {
        const Charge& charge = bundle.charges[0];
        apply(charge, charge.op, charge.cost, *address, at, ToBeLocked{}, bundle.decisions[0]);
        bundle.admitted = bundle.decisions[0].admitted;
      } else {
        decide_all_or_none(bundle, address, at);
      }
      address += bundle.charges.size();
    }
    bundles = bundles.subspan(whole);
  }
  done.call(done.context);
}

// One bundle of several charges, while it is decided.
//
// Charges are first checked and only then taken, so that a bundle that is going to be denied does
// not disturb other requests by taking units and giving them back. States in the ledger are locked
// from the start: what the check says of them stays true. States in cells and in the sketch are
// not; if another request came in between, a charge that was checked can still be denied when it is
// taken. These are therefore taken first, so that nothing in the ledger has to be given back. (One
// exception: a log for whose first record its page has no block, which shows only when it is
// taken.)
class Table::AllOrNone {
 public:
  AllOrNone(Table& table, Bundle& bundle, const CellAddress* addresses, Instant now) noexcept
      : table_(table), bundle_(bundle), addresses_(addresses), now_(now), hold_(table.ledger_) {}

  void decide() noexcept {
    lock_ledger_pages();
    // The check without numbers is cheap, and most requests pass it. Only a denial needs numbers.
    bool admitted = all_seem_admissible() || preview();
    if (admitted) admitted = take(State::elsewhere);
    if (admitted && in_ledger_.any()) admitted = take(State::in_ledger);
    bundle_.admitted = admitted;
    if (!admitted) undo();
  }

 private:
  enum class State { elsewhere, in_ledger };

  // Not inlined: four callers. `build/release/bin/steps_bench` measures requests of two policies.
  [[gnu::noinline]] bool apply(std::size_t i, limit::Op op, std::uint64_t cost) noexcept {
    table_.apply(bundle_.charges[i], op, cost, addresses_[i], now_, hold_, bundle_.decisions[i]);
    return bundle_.decisions[i].admitted;
  }

  void lock_ledger_pages() noexcept {
    for_each_in_ledger([&](std::size_t i, const auto&, Ledger& ledger) {
      hold_.add(ledger.locate(addresses_[i].hash));
      in_ledger_.set(i);
    });
    if (in_ledger_.none()) return;
    hold_.lock();
    for_each_in_ledger([&](std::size_t i, const auto& law, Ledger& ledger) {
      in_ledger_.set(i, ledger.keeps(hold_, law, ledger.locate(addresses_[i].hash), now_));
    });
  }
  template <class Act>
  void for_each_in_ledger(Act act) noexcept {
    for (std::size_t i = 0; i < bundle_.charges.size(); ++i) {
      table_.dispatch(*bundle_.charges[i].law,
                      Overloaded{[](const auto&, auto&, auto&) {},
                                 [&](const auto& law, Ledger& ledger) { act(i, law, ledger); },
                                 [](const limit::Closed&) {}});
    }
  }

  // Gives back what this bundle took. Of a key without a place, only slots: so it may stay charged
  // for a request that another one came before.
  void give_back(std::size_t i) noexcept {
    Charge charge = bundle_.charges[i];
    charge.since = now_;
    table_.apply(charge, limit::Op::refund, charge.cost, addresses_[i], now_, hold_,
                 bundle_.decisions[i]);
  }

  // Whether the charge would be admitted. A guess for states in cells: others may be changing them.
  [[nodiscard]] bool seems_admissible(const Charge& charge,
                                      const CellAddress& address) const noexcept {
    if (charge.op == limit::Op::refund || charge.op == limit::Op::debit) return true;
    if (charge.op == limit::Op::peek && charge.cost == 0) return true;
    const auto spend = [&]<class L>(const L&) {
      return UnkeptCharge{address.hash, room_of<L>(), limit::Op::spend, charge.cost, {}, now_};
    };
    return table_.dispatch(
        *charge.law,
        Overloaded{[&](const auto& law, const auto& mine, const auto&) {
                     const auto state = mine.read_state(address, law);
                     const UnkeptCharge as_spend = spend(law);
                     const Unkept unkept{table_.sketch_, law, as_spend};
                     if (!state && unkept.busy()) return unkept.admits();
                     return law.admits(state, charge.cost, now_);
                   },
                   [&](const auto& law, Ledger& ledger) {
                     return ledger.admits(hold_, law, ledger.locate(address.hash), charge.cost,
                                          now_, table_.shift(law),
                                          Unkept{table_.sketch_, law, spend(law)});
                   },
                   [&](const limit::Closed& law) { return law.decide(charge.cost).admitted; }});
  }

  [[nodiscard]] bool all_seem_admissible() const noexcept {
    bool all = true;
    for (std::size_t i = 0; i < bundle_.charges.size(); ++i) {
      if (!seems_admissible(bundle_.charges[i], addresses_[i])) all = false;
    }
    return all;
  }

  // Writes the decisions that spends would get, without taking anything. Refunds and debits are
  // made. Returns whether all charges are admitted.
  [[nodiscard]] bool preview() noexcept {
    previewed_ = true;
    bool admitted = true;
    for (std::size_t i = 0; i < bundle_.charges.size(); ++i) {
      const Charge& charge = bundle_.charges[i];
      const limit::Op op = charge.op == limit::Op::spend ? look_for(i) : charge.op;
      if (!apply(i, op, charge.cost)) admitted = false;
    }
    return admitted;
  }
  // The operation that decides as the spend or peek would, and takes nothing. A spend of 0 is
  // denied where a peek of 0 is not: while denials have put the key in debt. Where it is admitted,
  // it may end a debt, which is for take() to do.
  [[nodiscard]] limit::Op look_for(std::size_t i) const noexcept {
    const Charge& charge = bundle_.charges[i];
    const bool passes = charge.cost > 0 || seems_admissible(charge, addresses_[i]);
    return passes ? limit::Op::peek : charge.op;
  }

  // Applies the charges whose state is there, up to the first denial. False: one was denied.
  [[nodiscard]] bool take(State where) noexcept {
    for (std::size_t i = 0; i < bundle_.charges.size(); ++i) {
      const Charge& charge = bundle_.charges[i];
      if (in_ledger_.test(i) != (where == State::in_ledger)) continue;
      if ((charge.op == limit::Op::spend || !previewed_) && !apply(i, charge.op, charge.cost)) {
        denied_late_ = i;
        return false;
      }
      taken_.set(i);
    }
    return true;
  }

  // After a denial: gives back what was taken, and completes the decisions of all other charges.
  void undo() noexcept {
    for (std::size_t i = 0; i < bundle_.charges.size(); ++i) {
      const Charge& charge = bundle_.charges[i];
      if (denied_late_ == i) continue;  // its decision and its cost are those of its denial
      if (charge.op == limit::Op::spend && taken_.test(i)) {
        give_back(i);
      } else if (charge.op == limit::Op::spend || charge.op == limit::Op::peek) {
        complete(i);
      } else if (!previewed_ && !taken_.test(i)) {
        apply(i, charge.op, charge.cost);
      }
    }
  }

  // The decision of a spend or peek that took nothing. If it would have been admitted, shows what
  // is left; if not, charges what a denial costs.
  void complete(std::size_t i) noexcept {
    const Charge& charge = bundle_.charges[i];
    if (!previewed_ && !taken_.test(i)) apply(i, look_for(i), charge.cost);
    const limit::Decision seen = bundle_.decisions[i];
    if (seen.admitted) {
      apply(i, limit::Op::peek, 0);
    } else if (charge.op == limit::Op::spend && limit::denial_costs(*charge.law) &&
               apply(i, limit::Op::spend, charge.cost)) {
      // Admitted after all, because another request's refund came in between.
      give_back(i);
      bundle_.decisions[i] = seen;
    }
  }

  Table& table_;
  Bundle& bundle_;
  const CellAddress* const addresses_;  // one per charge
  const Instant now_;
  Ledger::Hold hold_;
  std::bitset<Bundle::charges_max> in_ledger_;  // charges whose state is or will be in the ledger
  std::bitset<Bundle::charges_max> taken_;      // charges that were applied
  bool previewed_ = false;                      // every decision is written
  std::optional<std::size_t> denied_late_;      // the charge that another request came before
};

[[gnu::noinline]] void Table::decide_all_or_none(Bundle& bundle, const CellAddress* addresses,
                                                 Instant now) noexcept {
  AllOrNone(*this, bundle, addresses, now).decide();
}

}  // namespace headgate::store
