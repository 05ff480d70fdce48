// Every law that a policy can name, behind one type; and the charge that a store is asked to take.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "headgate/limit/decision.h"
#include "headgate/limit/linear.h"
#include "headgate/limit/quota.h"

namespace headgate::limit {

// A quota of 0: costs of 0 pass, nothing else ever does. No state.
struct Closed {
  [[nodiscard]] static constexpr bool denial_costs() noexcept { return false; }
  [[nodiscard]] constexpr Decision decide(std::uint64_t cost) const noexcept {
    return cost == 0 ? Decision{.admitted = true} : Decision{.wait = Decision::never};
  }
};

using Law = std::variant<Closed, LinearWhole, LinearExact>;

// The linear law for this quota, in the narrowest exact form. std::nullopt where the quota or the
// window is out of range, or their product is beyond 128 bits.
[[nodiscard]] std::optional<Law> linear_law(const Quota& quota, const Terms& terms) noexcept;

// Whether a denial changes what the key has left.
[[nodiscard]] bool denial_costs(const Law& law) noexcept;

enum class Op : std::uint8_t { spend, peek, refund };

// One question to a store: may `cost` units of this key pass under this law? `law` and `key` are
// the caller's and outlive the call. `key` is the policy's name and the partition key, encoded so
// that different ones are different bytes.
struct Charge {
  const Law* law = nullptr;
  std::string_view key;
  std::uint64_t cost = 1;
  Op op = Op::spend;
};

}  // namespace headgate::limit
