// The time of a server's table, as other servers can read it.
#pragma once

#include <cstdint>

#include "headgate/base/instant.h"
#include "headgate/store/table.h"

namespace headgate::server {

// A table's time takes no step of the wall clock, but each table has its own.
struct TableTime {
  std::uint64_t table = 0;  // the same for all processes that share the table, and no other ones
  Instant now;
  Nanos to_wall = 0;  // what to add for wall time [ns]
};
[[nodiscard]] TableTime time_of(const store::Table& table) noexcept;

// Returns the moment `at` of the clock of `from` by that of `to`. Of two tables, as far as their
// machines' wall clocks agree.
[[nodiscard]] inline Instant moment_of(Instant at, const TableTime& from,
                                       const TableTime& to) noexcept {
  if (from.table == to.table) return at;
  // Unsigned: others may have written anything.
  return {static_cast<Nanos>(static_cast<u128>(at.ns) + static_cast<u128>(from.to_wall) -
                             static_cast<u128>(to.to_wall))};
}

}  // namespace headgate::server
