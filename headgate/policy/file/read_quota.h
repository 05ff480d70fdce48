// Quotas, in the spellings that a policy file has for them.
#pragma once

#include <optional>
#include <string_view>

#include "headgate/base/instant.h"
#include "headgate/limit/quota.h"
#include "headgate/policy/file/fault.h"
#include "headgate/policy/file/map_reader.h"

namespace headgate::policy {

// What a policy or an override takes one of.
inline constexpr std::string_view quota_spellings =
    "'quota' and 'window', or 'rate', or 'burst', 'count' and 'period'";

// A duration, or std::nullopt where the key is absent or its value a fault. `min` is 0 or 1 [ns].
[[nodiscard]] std::optional<Nanos> read_duration(const MapReader& map, std::string_view key,
                                                 Faults& faults, Nanos min = 1);

// Quota and window in any spelling. `base` is what an override inherits from, nullptr for a
// policy. std::nullopt if there was a fault.
[[nodiscard]] std::optional<limit::Quota> read_quota(const MapReader& map, const limit::Quota* base,
                                                     Faults& faults);

// The quota of a concurrency policy: units that are taken at one time, without a window.
[[nodiscard]] std::optional<limit::Quota> read_slots(const MapReader& map, Faults& faults);

// Whether quota or window are given at all.
[[nodiscard]] bool has_quota(const MapReader& map);

// Where the quota is spelled.
[[nodiscard]] Position quota_place(const MapReader& map);

}  // namespace headgate::policy
