// Decides the charges of a bundle over states that do not change meanwhile.
#pragma once

#include <span>

#include "headgate/redis/key_state.h"
#include "headgate/store/charge.h"

namespace headgate::redis {

// As store::Bundle promises. Changes `states`, one per charge, and writes `decisions`. Returns
// whether every charge is admitted. May throw std::bad_alloc.
[[nodiscard]] bool decide_all_or_none(std::span<const store::Charge> charges,
                                      std::span<KeyState> states, Instant now,
                                      std::span<limit::Decision> decisions);

// The same for a bundle that is denied because of a charge that is not among these.
void decide_denied(std::span<const store::Charge> charges, std::span<KeyState> states, Instant now,
                   std::span<limit::Decision> decisions);

}  // namespace headgate::redis
