// What remains to be settled of a request, as bytes that a proxy or a caller keeps until then.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "headgate/base/instant.h"
#include "headgate/gate/verdict.h"
#include "headgate/policy/policy_set.h"
#include "headgate/server/table_time.h"

namespace headgate::server {

// Appends the receipt of a request that was decided at `taken`, by the clock of `time`. Throws
// std::bad_alloc.
void append_receipt(std::span<const gate::Due> dues, Instant taken, const TableTime& time,
                    std::string& out);

// A receipt that was read. All that is needed is in the bytes, so any worker and any server that
// has the same policies can settle it, also after a reload or a restart.
class Receipt {
 public:
  // Views of `bytes` and of the policies. What belongs to a policy or a quota that is not there any
  // more is left out. `time`: of this server's table. Returns std::nullopt if the bytes are no
  // receipt.
  [[nodiscard]] static std::optional<Receipt> read(std::string_view bytes,
                                                   const policy::PolicySet& policies,
                                                   const TableTime& time) noexcept;

  // Whether the bytes begin as a receipt in the form of another version of headgate does.
  [[nodiscard]] static bool is_of_other_version(std::string_view bytes) noexcept;

  // By the clock of this server's table.
  [[nodiscard]] Instant taken() const noexcept { return taken_; }
  [[nodiscard]] std::span<const gate::Due> dues() const noexcept {
    return std::span(dues_).first(count_);
  }
  // The name of the first policy that was left out, in `bytes`: any characters if others wrote
  // them. std::nullopt: nothing was.
  [[nodiscard]] std::optional<std::string_view> gone() const noexcept { return gone_; }
  // The store key of the first policy, left out or not, in `bytes`. Empty: there is none.
  [[nodiscard]] std::string_view first_key() const noexcept { return first_key_; }
  // Whether a server with another table counted anything of it alone, while Redis was away.
  [[nodiscard]] bool is_of_outage_elsewhere() const noexcept { return is_of_outage_elsewhere_; }

 private:
  Receipt() = default;

  Instant taken_;
  std::size_t count_ = 0;
  std::optional<std::string_view> gone_;
  std::string_view first_key_;
  bool is_of_outage_elsewhere_ = false;
  std::array<gate::Due, policy::policies_per_request_max> dues_;
};

}  // namespace headgate::server
