// Limits that several machines share, and what one machine does while it cannot reach their state.
#pragma once

#include <cstdint>

#include "headgate/limit/law.h"
#include "headgate/limit/quota.h"

namespace headgate::limit {

enum class Sharing : std::uint8_t {
  none,   // each machine counts alone
  exact,  // one state for all machines
};

enum class OnOutage : std::uint8_t {
  local,  // this machine decides alone, with a share of the quota
  allow,
  deny,
};

// What a shared limit needs during an outage. A value.
struct Shared {
  OnOutage on_outage = OnOutage::local;
  Law outage_law;  // of OnOutage::local
};

// Returns this share of a quota and of its rate, 1..100 percent. Of a quota that is not 0 at least
// one unit, so that a small share delays requests but never denies all of them.
[[nodiscard]] Quota share_of(const Quota& quota, unsigned percent) noexcept;

}  // namespace headgate::limit
