// Reads quotas and durations, in every spelling that a policy file may use.
#pragma once

#include <optional>
#include <string_view>

#include "headgate/base/instant.h"
#include "headgate/limit/quota.h"
#include "headgate/policy/file/fault.h"
#include "headgate/policy/file/map_reader.h"

namespace headgate::policy {

// For faults: the ways to write a quota. A policy or an override uses exactly one of them.
inline constexpr std::string_view quota_spellings =
    "'quota' and 'window', or 'rate', or 'burst', 'count' and 'period'";

// Returns a duration, or std::nullopt if the key is absent or its value is a fault. `min` is 0 or 1
// [ns].
[[nodiscard]] std::optional<Nanos> read_duration(const MapReader& map, std::string_view key,
                                                 Faults& faults, Nanos min = 1);

// Reads quota and window in any spelling. An override inherits what it does not give from `base`,
// which is nullptr for a policy. Returns std::nullopt if there was a fault.
[[nodiscard]] std::optional<limit::Quota> read_quota(const MapReader& map, const limit::Quota* base,
                                                     Faults& faults);

// Reads the quota of a concurrency policy: the units that may be in use at the same time. Its
// window is 0.
[[nodiscard]] std::optional<limit::Quota> read_slots(const MapReader& map, Faults& faults);

// Whether the map gives a quota or a window in any spelling.
[[nodiscard]] bool has_quota(const MapReader& map);

// Returns the position of the quota's value, for faults.
[[nodiscard]] Position quota_position(const MapReader& map);

}  // namespace headgate::policy
