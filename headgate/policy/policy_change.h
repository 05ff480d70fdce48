// A change of one policy, for PolicySet::with(): the simulator compares a policy with variants of
// it.
#pragma once

#include <cstdint>
#include <optional>

#include "headgate/base/instant.h"
#include "headgate/limit/quota.h"

namespace headgate::policy {

// An absent member changes nothing. Quota and window replace the policy's own and leave those of
// its overrides; the algorithm replaces that of the overrides, too. Windows of another length,
// and other algorithms than fixed windows, follow no calendar.
struct Change {
  std::optional<std::uint64_t> quota{};
  std::optional<Nanos> window{};
  std::optional<limit::Algorithm> algorithm{};
};

}  // namespace headgate::policy
