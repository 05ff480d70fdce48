// The law of a grant.
#pragma once

#include <optional>

#include "headgate/limit/law.h"

namespace headgate::policy {

// The law of this quota under a policy's terms, whose offset may be longer than the window of an
// override. std::nullopt as limit::make_law().
[[nodiscard]] inline std::optional<limit::Law> law_of(const limit::Quota& quota,
                                                      limit::Terms terms) {
  if (quota.window > 0) terms.offset %= quota.window;
  return limit::make_law(quota, terms);
}

}  // namespace headgate::policy
