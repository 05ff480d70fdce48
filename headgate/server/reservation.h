// A reservation as the text that its caller keeps, and sends back to settle it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "headgate/gate/decision_context.h"
#include "headgate/policy/policy_set.h"
#include "headgate/server/receipt.h"
#include "headgate/server/table_time.h"

namespace headgate::server {

// The most bytes of policies and keys that one call may reserve for.
inline constexpr std::size_t reserved_size_max = 24 * 1024;

// A request of 64 KiB that settles has each key as hexadecimal digits, beside it up to 66 bytes of
// numbers as such digits, and the policy's name (up to 64 bytes) with its cost (20). 256 bytes are
// for the rest.
inline constexpr gate::DueRoom reservation_room{(64 * 1024 - 256) / 2, 66 + (64 + 20) / 2};
inline constexpr std::string_view too_long_for_reservation =
    "the keys are too long for a reservation that could be settled; expected shorter ones (those "
    "of "
    "a policy with a candidate count twice)";
inline constexpr std::string_view counted_elsewhere =
    "another server counted units of it alone while Redis was away, and only that server can "
    "settle it; try again there";

// Both functions take the time of this server's table.

// Appends the text of what Gate::reserve() has decided: hexadecimal digits. It has all that is
// needed, so that any server with the same policies can settle it, also after a reload or a
// restart; what was counted without Redis, only one with the same table. It is no secret and not
// signed: who may settle may call for a refund as well. Throws std::bad_alloc.
void append_reservation(const gate::DecisionContext& decision, const TableTime& time,
                        std::string& out);

// A reservation that was read. Points to the bytes and the policies.
class ReadReservation {
 public:
  // `bytes` is memory for what the text stands for. Returns std::nullopt if it is no reservation.
  // Throws std::bad_alloc.
  [[nodiscard]] static std::optional<ReadReservation> read(std::string_view text,
                                                           const policy::PolicySet& policies,
                                                           const TableTime& time,
                                                           std::string& bytes);

  [[nodiscard]] gate::Reservation reservation() const noexcept {
    return {id_, receipt_.taken(), receipt_.dues(), receipt_.first_key(),
            receipt_.is_of_outage_elsewhere()};
  }
  // The name of a policy that it has units of and that is not there any more, or not with this
  // quota: any characters, as the text has them. std::nullopt: all are there.
  [[nodiscard]] std::optional<std::string_view> gone() const noexcept { return receipt_.gone(); }
  // The same if, with these costs of its dues, nothing could be corrected: then it is better not
  // settled, because it is settled only once, and the policy may come back. std::nullopt: settle
  // it.
  [[nodiscard]] std::optional<std::string_view> missing(
      std::span<const std::optional<std::uint64_t>> costs) const noexcept;

 private:
  ReadReservation(std::string_view id, const Receipt& receipt) noexcept
      : id_(id), receipt_(receipt) {}

  std::string_view id_;
  Receipt receipt_;
};

}  // namespace headgate::server
