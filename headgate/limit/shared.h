// Limits that several machines share, and what one machine does while it cannot reach their state.
#pragma once

#include <cstdint>

#include "headgate/limit/law.h"
#include "headgate/limit/quota.h"

namespace headgate::limit {

enum class Sharing : std::uint8_t {
  none,    // each machine counts alone
  exact,   // one state for all machines
  leased,  // the same, of which machines take units ahead
};

enum class OnOutage : std::uint8_t {
  local,  // this machine decides alone, with a share of the quota
  allow,
  deny,
};

// What a limit that machines share needs besides its law. A value.
struct Shared {
  OnOutage on_outage = OnOutage::local;
  Law outage_law;  // of OnOutage::local
  // Whether nothing passes before the wait of a denial is over: denials are free, and units come
  // back only as the law says.
  bool denials_last = false;
  // The units that all machines together may have taken ahead; 0: none, each request is decided
  // where the state is.
  std::uint64_t leased = 0;
};

// Returns how many units of this law machines may take ahead: a tenth of the quota. 0 if that is
// less than two units, or if the law does not allow it: it is neither linear nor a fixed window of
// whole microseconds, its window is longer than 71 years, or its windows are those of a calendar.
[[nodiscard]] std::uint64_t leasable(const Law& law) noexcept;

// Returns this share of a quota and of its rate, 1..100 percent. Of a quota that is not 0 at least
// one unit, so that a small share delays requests but never denies all of them.
[[nodiscard]] Quota share_of(const Quota& quota, unsigned percent) noexcept;

}  // namespace headgate::limit
