#include "headgate/server/reservation.h"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>

#include "headgate/base/ascii.h"
#include "headgate/base/hex.h"
#include "headgate/base/random.h"
#include "headgate/base/siphash.h"

namespace headgate::server {
namespace {

// So many random bytes are never the same twice.
using Id = std::array<char, 16>;

// The clock that the receipt's time is of. All processors that headgate is built for have the same
// order of bytes.
struct Clock {
  std::uint64_t table;   // TableTime::table
  std::int64_t to_wall;  // what to add for wall time [ns]
};
using ClockBytes = std::array<char, sizeof(Clock)>;

bool from_hex(std::string_view text, std::string& bytes) {
  bytes.clear();
  if (text.size() % 2 != 0) return false;
  bytes.reserve(text.size() / 2);
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const int high = hex_value(text[i]);
    const int low = hex_value(text[i + 1]);
    if (high < 0 || low < 0) return false;
    bytes.push_back(static_cast<char>(high * 16 + low));
  }
  return true;
}

// What to add to a time of this server's table to get wall time.
Nanos to_wall(Instant now) noexcept {
  const auto wall = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(wall).count() - now.ns;
}

}  // namespace

TableTime time_of(const store::Table& table) noexcept {
  return {table_hash(table.secret(), "the clock of a reservation").lo, table.now()};
}

void append_reservation(const gate::DecisionContext& decision, const TableTime& time,
                        std::string& out) {
  const auto id = std::bit_cast<Id>(random_secret());
  const auto clock =
      std::bit_cast<ClockBytes>(Clock{time.table, static_cast<std::int64_t>(to_wall(time.now))});
  std::string bytes(id.data(), id.size());
  bytes.append(clock.data(), clock.size());
  append_receipt(decision.verdict.dues, decision.now, bytes);
  append_hex(out, bytes);
}

std::optional<ReadReservation> ReadReservation::read(std::string_view text,
                                                     const policy::PolicySet& policies,
                                                     const TableTime& time, std::string& bytes) {
  if (!from_hex(text, bytes) || bytes.size() < sizeof(Id) + sizeof(Clock)) return std::nullopt;
  const std::string_view all = bytes;
  const auto receipt = Receipt::read(all.substr(sizeof(Id) + sizeof(Clock)), policies);
  if (!receipt) return std::nullopt;
  ClockBytes clock_bytes;
  std::copy_n(all.begin() + sizeof(Id), clock_bytes.size(), clock_bytes.begin());
  const auto clock = std::bit_cast<Clock>(clock_bytes);
  Instant taken = receipt->taken();
  if (clock.table != time.table) taken.ns += clock.to_wall - to_wall(time.now);
  return ReadReservation(all.substr(0, sizeof(Id)), taken, *receipt);
}

std::optional<std::string_view> ReadReservation::missing(
    std::span<const std::optional<std::uint64_t>> costs) const noexcept {
  const auto dues = receipt_.dues();
  for (std::size_t i = 0; i < dues.size(); ++i) {
    if (costs[i] || dues[i].policy->holds_slots()) return std::nullopt;
  }
  return gone();
}

}  // namespace headgate::server
