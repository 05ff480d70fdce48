#include "headgate/server/reservation.h"

#include <array>
#include <bit>

#include "headgate/base/ascii.h"
#include "headgate/base/hex.h"
#include "headgate/base/random.h"

namespace headgate::server {
namespace {

// So many random bytes are never the same twice.
using Id = std::array<char, 16>;

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

}  // namespace

void append_reservation(const gate::DecisionContext& decision, const TableTime& time,
                        std::string& out) {
  const auto id = std::bit_cast<Id>(random_secret());
  std::string bytes(id.data(), id.size());
  append_receipt(decision.verdict.dues, decision.now, time, bytes);
  append_hex(out, bytes);
}

std::optional<ReadReservation> ReadReservation::read(std::string_view text,
                                                     const policy::PolicySet& policies,
                                                     const TableTime& time, std::string& bytes) {
  if (!from_hex(text, bytes) || bytes.size() < sizeof(Id)) return std::nullopt;
  const std::string_view all = bytes;
  const auto receipt = Receipt::read(all.substr(sizeof(Id)), policies, time);
  if (!receipt) return std::nullopt;
  return ReadReservation(all.substr(0, sizeof(Id)), *receipt);
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
