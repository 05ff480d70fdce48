#include "headgate/server/http/policies_page.h"

#include "headgate/base/json_text.h"
#include "headgate/policy/algorithm.h"
#include "headgate/server/http/json_members.h"
#include "headgate/server/worker_context.h"

namespace headgate::server {
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

// Quota null: unlimited except for overrides. Window null: concurrency has no window.
void append(std::string& out, const policy::Policy& policy) {
  const policy::Grant& own = policy.grants.front();
  const bool has_window = !own.unlimited && policy.terms.algorithm != limit::Algorithm::concurrency;
  out.append(R"({"name":)");
  append_json(out, std::string_view(policy.name));
  append_member(out, "mode", word(policy.mode));
  append_member(out, "algorithm", policy::algorithm_name(policy.terms.algorithm));
  append_member_if(!own.unlimited, out, "quota", own.quota.units);
  append_member(out, "unit", std::string_view(policy.unit));
  append_member_if(has_window, out, "window_ns", own.quota.window);
  append_member(out, "key", std::string_view(policy.key_text));
  append_member(out, "match", std::string_view(policy.match_text));
  append_member(out, "cost", std::string_view(policy.cost_text));
  append_member(out, "status", policy.status);
  append_member_if(policy.terms.penalty > 0, out, "penalty_ns", policy.terms.penalty);
  append_member(out, "overrides", policy.grants.size() - 1);
  out.push_back('}');
}

}  // namespace

Content policies_page(Engine& engine, WorkerContext& worker, std::string_view) {
  const PolicySnapshot& snapshot = worker.in_force();
  Content page{"application/json", {}};
  std::string& out = page.body;
  out.append(R"({"file":)");
  append_json(out, std::string_view(engine.config()));
  append_member(out, "number", snapshot.reading());
  out.append(R"(,"policies":[)");
  for (const policy::Policy& policy : snapshot.policies().policies()) {
    if (policy.index > 0) out.push_back(',');
    append(out, policy);
  }
  out.append("]}\n");
  return page;
}

}  // namespace headgate::server
