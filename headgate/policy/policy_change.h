// What to change in a policy, to compare it with what it might be.
#pragma once

#include <cstdint>
#include <optional>

#include "headgate/base/instant.h"
#include "headgate/limit/quota.h"

namespace headgate::policy {

// What is absent stays. Quota and window are the policy's own: its overrides keep theirs, while the
// algorithm becomes that of all.
struct Change {
  std::optional<std::uint64_t> quota{};
  std::optional<Nanos> window{};
  std::optional<limit::Algorithm> algorithm{};
};

}  // namespace headgate::policy
