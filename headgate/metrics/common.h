// The metrics that every door has, under the same names.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "headgate/gate/counts.h"
#include "headgate/metrics/exposition.h"
#include "headgate/policy/live/override.h"
#include "headgate/policy/policy_set.h"
#include "headgate/store/table.h"

namespace headgate::metrics {

struct NamedTotals {
  std::string_view policy;  // its name
  gate::PolicyTotals totals;
};

// Each appends its metrics to `out`. Throws std::bad_alloc.

// Unix times [s].
struct ProcessTimes {
  std::uint64_t start = 0;
  std::uint64_t last_reload = 0;  // of the policy file in force; `start` if there was none
};
// Also the version of this build.
void expose_process(const ProcessTimes& times, Exposition& out);
// Requests to which a policy applied, by verdict.
void expose_requests(const gate::PolicyTotals& requests, Exposition& out);
// The quotas and windows of the policies in force, without their overrides.
void expose_quotas(const policy::PolicySet& policies, Exposition& out);
struct OverrideTotals {
  std::uint64_t changes = 0;        // of the list, by people or because some have ended
  std::uint64_t refused_files = 0;  // times that their file had faults when it was read
};
// Overrides that are made while the program runs.
void expose_overrides(const policy::OverrideList& overrides, const OverrideTotals& totals,
                      Exposition& out);
void expose_policies(std::span<const NamedTotals> policies, Exposition& out);
void expose_table(const store::TableStats& stats, Exposition& out);

struct RedisTotals {
  bool up = false;  // a server answers, or the first attempt to connect has not ended
  std::uint64_t round_trips = 0;
  std::uint64_t timeouts = 0;
  std::uint64_t remembered = 0;
  std::uint64_t leased = 0;
};
void expose_redis(const RedisTotals& redis, Exposition& out);
void expose_reloads(std::uint64_t loaded, std::uint64_t refused, Exposition& out);
void expose_fields_left_out(std::uint64_t fields, Exposition& out);

}  // namespace headgate::metrics
