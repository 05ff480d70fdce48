// GET /v1/overrides, and PUT and DELETE /v1/overrides/POLICY/KEY: other quotas for single
// partitions, without another policy file. docs/server.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "headgate/base/result.h"
#include "headgate/policy/live/kept_overrides.h"
#include "headgate/policy/live/override.h"
#include "headgate/policy/policy_set.h"
#include "headgate/view/page.h"
#include "headgate/view/partition_path.h"

namespace headgate::view {

// All functions throw std::bad_alloc.

// `file` keeps the overrides; "": there is none.
[[nodiscard]] Page overrides_page(std::string_view file, const policy::OverrideList& overrides);

// A PUT: its body, who has sent it, and when (Unix time [s]).
struct OverrideRequest {
  std::string_view body;
  std::string by;
  std::uint64_t now;
};
// Returns the override that a PUT asks for, or the answer to a faulty one.
[[nodiscard]] Result<policy::LiveOverride, Page> read_override_request(
    const PartitionPath& partition, OverrideRequest request, const policy::PolicySet& policies);

// The answer to a PUT or DELETE that has changed an override, that was refused, or that had no
// override to remove.
[[nodiscard]] Page override_page(const policy::LiveOverride& override);
[[nodiscard]] Page refusal_page(const policy::OverrideRefusal& refusal);
[[nodiscard]] Page no_override_page(const PartitionPath& partition);

}  // namespace headgate::view
