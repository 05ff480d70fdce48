// The embedded store: a table of fixed size in shared memory.
//
// One state a key, no allocation, no sweeper. Linear limits are lock-free: any number of threads
// and processes take charges at once, and one that dies in the middle leaves nothing to repair.
// The other laws' states are in a ledger, whose locks heal when their holder dies. The bytes are
// described in docs/table-format.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "headgate/base/result.h"
#include "headgate/base/siphash.h"
#include "headgate/store/cell_table.h"
#include "headgate/store/clock.h"
#include "headgate/store/ledger.h"
#include "headgate/store/region.h"
#include "headgate/store/store.h"

namespace headgate::store {

struct TableOptions {
  static constexpr std::size_t memory_min = 16 * 1024;

  std::size_t memory = std::size_t{64} << 20;  // everything included [bytes]
  std::string file{};                          // empty: memory alone, lost when the last user ends
  Sharing sharing = Sharing::processes;        // of a table without a file
  // How much of the memory is for policies whose interval is not a whole number of nanoseconds
  // [1/64ths, 1..63]. Fixed when a table is made.
  unsigned wide_share = 1;
  // The same for laws with larger states, and how much of that is for logs [1/64ths, 1..63].
  unsigned ledger_share = 1;
  unsigned log_share = 32;
  const ClockSource* clock = &ClockSource::system();
};

struct TableStats {
  std::uint64_t memory = 0;     // [bytes], everything included
  std::uint64_t cells = 0;      // how many keys there is room for
  std::uint64_t live = 0;       // keys without a full quota; estimated on large tables
  std::uint64_t evictions = 0;  // live keys that made room for more restricted ones
  std::uint64_t unkept = 0;     // new keys that were not kept: all their cells were more restricted
  std::uint64_t merged = 0;  // records of moving windows that had to share a address in a full log
};

class Table final : public Store {
 public:
  // Makes a table, or joins the one in options.file. Errors: a sentence that names the file and
  // what is wrong with it (foreign, other version, truncated, damaged, other size, no permission,
  // no space). A file is never changed by an open that fails.
  static Result<std::unique_ptr<Table>, std::string> open(const TableOptions& options);

  // Nanoseconds since an origin of the table's own; goes on over restarts and reboots.
  [[nodiscard]] Instant now() const noexcept override { return clock_.now(); }

  void prefetch(std::span<limit::Charge> charges) noexcept override;

  // Completes before it returns. Lock-free for linear laws: some caller always gets on.
  using Store::take;
  void take(std::span<Bundle> bundles, std::optional<Instant>& now,
            Completion done) noexcept override;

  // Looks at 16,384 buckets at most: about a millisecond.
  [[nodiscard]] TableStats stats() const noexcept;

  // The secret of this table, for partition keys that are shown to clients.
  [[nodiscard]] const HashSecret& secret() const noexcept;

 private:
  struct Header;

  Table(Region region, const ClockSource& clock) noexcept;

  template <class Act>
  auto at_home(const limit::Law& law, Act act) noexcept;
  template <class L>
  [[nodiscard]] Nanos shift(const L& law) const noexcept;

  [[nodiscard]] Hash128 hash_of(std::string_view key) const noexcept;
  void locate(const limit::Charge& charge, CellAddress& address) noexcept;
  bool add_to(Ledger::Hold& hold, const limit::Charge& charge, const CellAddress& address) noexcept;
  enum class Pages { held, to_be_held };  // of the ledger
  template <Pages pages>
  void apply(const limit::Charge& charge, limit::Op op, std::uint64_t cost,
             const CellAddress& address, Instant now, limit::Decision& answer) noexcept;
  [[nodiscard]] bool seems_admissible(const limit::Charge& charge, const CellAddress& address,
                                      Instant now) noexcept;
  void decide(Bundle& bundle, std::span<const CellAddress> places, Instant now) noexcept;

  Region region_;
  Header* header_;
  Clock clock_;
  CellTable<NarrowCell> narrow_;
  CellTable<WideCell> wide_;
  Ledger ledger_;
};

}  // namespace headgate::store
