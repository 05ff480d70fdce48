// The laws of a grant.
#pragma once

#include <memory>
#include <optional>

#include "headgate/limit/law.h"
#include "headgate/policy/policy.h"

namespace headgate::policy {

// The law of this quota under a policy's terms, whose offset may be longer than the window of an
// override. std::nullopt as limit::make_law().
[[nodiscard]] inline std::optional<limit::Law> law_of(const limit::Quota& quota,
                                                      limit::Terms terms) {
  if (quota.window > 0) terms.offset %= quota.window;
  return limit::make_law(quota, terms);
}

// Makes the laws of a grant from its quota. Returns false, and changes nothing, if law_of() returns
// none.
[[nodiscard]] inline bool make_laws(limit::Terms terms, Grant& grant) {
  const auto law = law_of(grant.quota, terms);
  if (!law) return false;
  grant.law = *law;
  grant.waiting_law = nullptr;
  if (terms.delay > 0) {
    terms.waits = true;
    grant.waiting_law = std::make_shared<const limit::Law>(law_of(grant.quota, terms).value());
  }
  return true;
}

}  // namespace headgate::policy
