// GET and DELETE /v1/state/POLICY/KEY: what one partition has. docs/server.md.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "headgate/base/instant.h"
#include "headgate/gate/check.h"
#include "headgate/policy/policy_set.h"
#include "headgate/view/last_denials.h"
#include "headgate/view/page.h"

namespace headgate::view {

// The last denial of a partition, as seen at `now`, by the clock of RecentStats.
struct SeenDenial {
  std::optional<LastDenial> last;  // std::nullopt: none is remembered
  Instant now;
};

// `results` are those of gate::Gate::inspect(). Throws std::bad_alloc, as all functions here.
[[nodiscard]] Page state_page(std::span<const gate::CheckResult> results, const SeenDenial& denial);

// The same after gate::Refill::yes, or status 503 if nothing could be given back.
[[nodiscard]] Page reset_page(std::span<const gate::CheckResult> results, const SeenDenial& denial);

// Why gate::Gate::inspect() looked at nothing. `policy` is the name that it was given.
[[nodiscard]] Page inspect_fault_page(const gate::CheckFault& fault,
                                      const policy::PolicySet& policies, std::string_view policy);

}  // namespace headgate::view
