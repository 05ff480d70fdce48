#include "headgate/view/policies_page.h"

#include "headgate/base/json_members.h"
#include "headgate/base/json_text.h"
#include "headgate/policy/algorithm.h"

namespace headgate::view {
namespace {

std::string_view word(policy::Mode mode) noexcept {
  switch (mode) {
    case policy::Mode::enforce:
      return "enforce";
    case policy::Mode::shadow:
      return "shadow";
    case policy::Mode::off:
      return "off";
  }
  return "";
}

// Quota null: unlimited except for overrides. Window null: concurrency has no window. A candidate
// has two members more.
void append(std::string& out, const policy::Policy& policy) {
  const policy::Grant& own = policy.grants.front();
  out.append(R"({"name":)");
  append_json(out, std::string_view(policy.name));
  if (policy.is_candidate()) {
    append_member(out, "candidate_of", std::string_view(policy.candidate_of));
    append_member(out, "share", policy.candidate_share);  // [%]
  }
  append_member(out, "mode", word(policy.mode));
  append_member(out, "algorithm", policy::algorithm_name(policy.terms.algorithm));
  append_member_if(!own.unlimited, out, "quota", own.quota.units);
  append_member(out, "unit", std::string_view(policy.unit));
  append_member_if(policy.has_window(), out, "window_ns", own.quota.window);
  append_member(out, "key", std::string_view(policy.key_text));
  append_member(out, "match", std::string_view(policy.match_text));
  append_member(out, "cost", std::string_view(policy.cost_text));
  append_member(out, "status", policy.status);
  append_member_if(policy.terms.penalty > 0, out, "penalty_ns", policy.terms.penalty);
  append_member(out, "overrides", policy.grants.size() - 1);
  out.push_back('}');
}

}  // namespace

Page policies_page(std::string_view file, std::uint64_t reading,
                   const policy::PolicySet& policies) {
  Page page{"application/json", {}};
  std::string& out = page.body;
  out.append(R"({"file":)");
  append_json(out, file);
  append_member(out, "number", reading);
  out.append(R"(,"policies":[)");
  for (const policy::Policy& policy : policies.policies()) {
    if (policy.index > 0) out.push_back(',');
    append(out, policy);
  }
  out.append("]}\n");
  return page;
}

}  // namespace headgate::view
