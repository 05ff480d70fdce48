#include "headgate/server/http/policies_page.h"

#include "headgate/base/json_text.h"
#include "headgate/policy/algorithm.h"
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

template <class Value>
void member(std::string& out, std::string_view name, const Value& value) {
  out.push_back(',');
  append_json(out, name);
  out.push_back(':');
  append_json(out, value);
}

// Quota null: unlimited except for overrides. Window null: concurrency has no window.
void append(std::string& out, const policy::Policy& policy) {
  const policy::Grant& own = policy.grants.front();
  const bool has_window = !own.unlimited && policy.terms.algorithm != limit::Algorithm::concurrency;
  out.append(R"({"name":)");
  append_json(out, std::string_view(policy.name));
  member(out, "mode", word(policy.mode));
  member(out, "algorithm", policy::algorithm_name(policy.terms.algorithm));
  out.append(R"(,"quota":)");
  if (own.unlimited) {
    out.append("null");
  } else {
    append_json(out, own.quota.units);
  }
  member(out, "unit", std::string_view(policy.unit));
  out.append(R"(,"window_ns":)");
  if (has_window) {
    append_json(out, own.quota.window);
  } else {
    out.append("null");
  }
  member(out, "key", std::string_view(policy.key_text));
  member(out, "match", std::string_view(policy.match_text));
  member(out, "cost", std::string_view(policy.cost_text));
  member(out, "status", policy.status);
  member(out, "overrides", policy.grants.size() - 1);
  out.push_back('}');
}

}  // namespace

Content policies_page(Engine& engine, WorkerContext& worker, std::string_view) {
  const PolicySnapshot& snapshot = worker.in_force();
  Content page{"application/json", {}};
  std::string& out = page.body;
  out.append(R"({"file":)");
  append_json(out, std::string_view(engine.config()));
  member(out, "number", snapshot.reading());
  out.append(R"(,"policies":[)");
  for (const policy::Policy& policy : snapshot.policies().policies()) {
    if (policy.index > 0) out.push_back(',');
    append(out, policy);
  }
  out.append("]}\n");
  return page;
}

}  // namespace headgate::server
