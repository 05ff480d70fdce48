// Reads numbers that take the place of a policy's own: those of an override, or of a candidate.
#pragma once

#include <optional>

#include "headgate/limit/law.h"
#include "headgate/limit/quota.h"
#include "headgate/policy/file/fault.h"
#include "headgate/policy/file/map_reader.h"
#include "headgate/policy/policy.h"

namespace headgate::policy {

// Returns the grant of this quota under a policy's terms, or std::nullopt if it was a fault, which
// is at `at`.
[[nodiscard]] std::optional<Grant> make_grant(const limit::Quota& quota, const limit::Terms& terms,
                                              Position at, Faults& faults);

// Reads the quota of a map that has_quota(), in any spelling. What it leaves out is that of `base`,
// the policy's own. Returns std::nullopt if there was a fault.
[[nodiscard]] std::optional<limit::Quota> read_other_quota(const MapReader& map,
                                                           const limit::Quota& base,
                                                           const limit::Terms& terms,
                                                           Faults& faults);

}  // namespace headgate::policy
