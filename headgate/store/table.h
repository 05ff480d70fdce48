// The embedded store: a table in shared memory that does not grow by itself.
//
// One state per key; no allocation and no background thread that removes old keys. Linear limits
// are lock-free: any number of threads and processes take charges at once, and one that dies in the
// middle leaves nothing to repair. The other laws' states are in a ledger, whose locks are released
// and whose data is repaired when their holder dies. A full table removes no key whose state still
// matters; new keys then share what a sketch counts. The bytes are described in
// docs/table-format.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "headgate/base/result.h"
#include "headgate/base/siphash.h"
#include "headgate/store/cell_table.h"
#include "headgate/store/clock.h"
#include "headgate/store/file_guard.h"
#include "headgate/store/ledger.h"
#include "headgate/store/region.h"
#include "headgate/store/segment.h"
#include "headgate/store/sketch.h"
#include "headgate/store/store.h"

namespace headgate::store {

struct TableOptions {
  // The header, the smallest ledger and the smallest sketch need about 8 KiB. With 16 KiB there is
  // room for 520 keys.
  static constexpr std::size_t memory_min = 16 * 1024;

  std::size_t memory = std::size_t{64} << 20;  // everything included [bytes]
  std::string file{};                          // empty: memory only, lost when the last user ends
  Sharing sharing = Sharing::processes;        // of a table without a file
  // The share of the memory for linear policies whose interval is not a whole number of nanoseconds
  // [1/64ths, 1..63]. Fixed when a table is made.
  unsigned wide_share = 1;
  // The share of the memory for the laws with larger states, and the share of that for logs
  // [1/64ths, 1..63]. Fixed when a table is made.
  unsigned ledger_share = 1;
  unsigned log_share = 32;
  // Whether a file that is smaller than `memory` grows when it is opened. If not, it is used as it
  // is, as a larger one always is.
  bool grow = true;
  const ClockSource* clock = &ClockSource::system();
};

struct TableStats {
  // Places of one kind. The law of a key decides in which kind it has its place.
  struct Places {
    std::uint64_t all = 0;
    std::uint64_t live = 0;  // of keys that keep them; estimated in large tables
  };

  std::uint64_t memory = 0;  // [bytes], everything included
  Places narrow;             // cells of LinearWhole
  Places wide;               // cells of LinearExact
  Places ledger;             // entries of the other laws
  std::uint64_t blocks = 0;  // of the logs of moving windows and concurrency
  // Decisions on keys for which there was no place; the sketch counts what they take.
  std::uint64_t unkept = 0;
  std::uint64_t merged = 0;  // records of moving windows that were merged: a log was full
  bool file_lost = false;    // the file was truncated or has lost its name; the table
                             // continues in memory

  [[nodiscard]] std::uint64_t cells() const noexcept { return narrow.all + wide.all + ledger.all; }
  [[nodiscard]] std::uint64_t live() const noexcept {
    return narrow.live + wide.live + ledger.live;
  }
};

class Table final : public Store {
 public:
  // The least that a table can grow by.
  static constexpr std::size_t growth_min = Segment::bytes_min;

  // Makes a table, or joins the one in options.file. An error is a sentence that names the file and
  // what is wrong with it (not a table, other version, truncated, damaged, no permission, no space,
  // no locks). If open() fails, the file is unchanged. If the file is truncated later,
  // and the program has called FileGuard::watch(), the table continues in memory, with full quotas.
  static Result<std::unique_ptr<Table>, std::string> open(const TableOptions& options);

  // Makes the table grow to options.memory bytes, everything included, and divides the new ones as
  // the shares in `options` say. All keys keep their states, and every process that has this table
  // uses the new memory from now on. Up to 7 times, and to 64 times the size with which the table
  // was made. Does nothing if it is not smaller than that. Other threads may use the table
  // meanwhile. An error is a sentence with the reason; the table is then as before.
  Result<void, std::string> grow(const TableOptions& options);

  // Nanoseconds since an origin that each table chooses; continues over restarts and reboots.
  [[nodiscard]] Instant now() const noexcept override { return clock_.now(); }

  [[nodiscard]] bool completes_at_once() const noexcept override { return true; }

  void prefetch(std::span<Charge> charges) noexcept override;

  // Lock-free for linear laws: of concurrent calls at least one
  // makes progress.
  using Store::take;
  void take(std::span<Bundle> bundles, std::optional<Instant>& now,
            Completion done) noexcept override;

  // Reads at most 16,384 buckets and 32 pages of the ledger: about a millisecond.
  [[nodiscard]] TableStats stats() const noexcept;

  // The hash secret of this table, also for partition keys that clients can see.
  [[nodiscard]] const HashSecret& secret() const noexcept;

 private:
  struct Header;
  class AllOrNone;

  Table(Region region, const TableOptions& options) noexcept;
  static Result<std::unique_ptr<Table>, std::string> join(Region region,
                                                          const TableOptions& options);
  Result<void, std::string> grow_to(std::size_t bytes, const SegmentShares& shares);

  template <class Act>
  auto dispatch(const limit::Law& law, Act act) noexcept;
  template <class L>
  [[nodiscard]] Nanos shift(const L& law) const noexcept;

  [[nodiscard]] Hash128 hash_of(std::string_view key) const noexcept;
  void locate(const Charge& charge, CellAddress& address) noexcept;
  // The key's pages of the ledger are locked by `pages`, a Ledger::Hold, or are ToBeLocked.
  struct ToBeLocked {};
  template <class Pages>
  void apply(const Charge& charge, limit::Op op, std::uint64_t cost, const CellAddress& address,
             Instant now, const Pages& pages, limit::Decision& answer) noexcept;
  void decide_all_or_none(Bundle& bundle, const CellAddress* addresses, Instant now) noexcept;
  static void fill_spare(std::span<std::byte> memory, void* table) noexcept;

  Region region_;
  std::string file_;  // empty: none
  Header* header_;
  Clock clock_;
  KnownSegments segments_;
  CellTable<NarrowCell> narrow_;
  CellTable<WideCell> wide_;
  Ledger ledger_;
  Sketch sketch_;
  std::optional<FileGuard> guard_;  // of a file
};

}  // namespace headgate::store
