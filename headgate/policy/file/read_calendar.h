// Reads what a policy with a `time-zone` grants: its windows are the days, weeks or months there.
#pragma once

#include <optional>

#include "headgate/limit/quota.h"
#include "headgate/policy/file/fault.h"
#include "headgate/policy/file/map_reader.h"

namespace headgate::policy {

// Reads `rate` and `time-zone` of a policy that has the latter, and sets the calendar of its terms.
// Returns std::nullopt if there was a fault.
[[nodiscard]] std::optional<limit::Quota> read_calendar_quota(const MapReader& map,
                                                              limit::Terms& terms, Faults& faults);

// The same of an override, which has a `rate` per the same unit, or a `quota` alone.
[[nodiscard]] std::optional<limit::Quota> read_calendar_override(const MapReader& map,
                                                                 const limit::Calendar& calendar,
                                                                 Faults& faults);

}  // namespace headgate::policy
