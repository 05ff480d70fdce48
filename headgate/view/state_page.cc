#include "headgate/view/state_page.h"

#include <algorithm>
#include <string>

#include "headgate/base/json_members.h"
#include "headgate/base/json_text.h"
#include "headgate/policy/no_policy.h"
#include "headgate/view/problem_page.h"

namespace headgate::view {
namespace {

// A wait twice: in seconds under `name`, and in nanoseconds. null: waiting does not help, or
// the time cannot be known.
void append_wait(std::string& out, std::string_view name, const limit::Decision& decision) {
  const bool known = decision.wait != limit::Decision::never;
  append_member_if(known, out, name, known ? ceil_seconds(decision.wait) : 0);
  append_member_if(known, out, std::string(name) + "_ns", decision.wait);
}

// What was denied, and how long ago in whole seconds; or null.
void append_denial(std::string& out, const SeenDenial& seen) {
  append_name(out, "last_denial");
  if (!seen.last) {
    out.append("null");
    return;
  }
  const LastDenial& last = *seen.last;
  const Nanos ago = std::max<Nanos>(seen.now.ns - last.at.ns, 0);
  out.append(R"({"ago":)");
  append_json(out, static_cast<std::uint64_t>(ago / nanos_per_second));
  append_member(out, "enforced", last.enforced);
  append_member(out, "cost", last.cost);
  append_member(out, "r", last.left);
  append_member(out, "quota", last.quota);
  append_member_if(last.wait.has_value(), out, "wait", last.wait.value_or(0));
  out.push_back('}');
}

}  // namespace

Page state_page(std::span<const gate::CheckResult> results, const SeenDenial& denial) {
  const gate::CheckResult& now = results[0];
  const limit::Decision& one = results[1].decision;
  const limit::Decision& whole = results[2].decision;
  const policy::Policy& policy = *now.policy;
  const limit::Quota& quota = now.grant->quota;
  Page page{"application/json", {}};
  std::string& out = page.body;
  out.append(R"({"policy":)");
  append_json(out, now.name);
  append_member(out, "key", now.partition);
  append_member(out, "limited", now.limited);
  append_member(out, "enforced", now.enforced());
  // The limits of an Envoy domain are grants, too, and overrides of nothing.
  append_member(out, "override", now.grant != policy.grants.data() && now.grant->envoy == nullptr);
  append_member_if(!now.grant->unlimited, out, "quota", quota.units);
  append_member(out, "unit", std::string_view(policy.unit));
  append_member_if(!now.grant->unlimited && !policy.holds_slots(), out, "window_ns", quota.window);
  append_member(out, "admitted", one.admitted);
  append_member_if(now.limited, out, "r", now.decision.remaining);
  append_member_if(now.limited && now.decision.reset != limit::Decision::no_reset, out, "reset",
                   now.decision.reset);
  append_wait(out, "wait", one);
  append_wait(out, "full", whole);
  append_member(out, "outage", now.outage);
  append_denial(out, denial);
  out.append("}\n");
  return page;
}

Page reset_page(std::span<const gate::CheckResult> results, const SeenDenial& denial) {
  if (results[0].outage) {
    return problem_page(503, "Redis is away, so that nothing could be given back");
  }
  const limit::Decision& whole = results[2].decision;
  if (whole.unkept && !whole.admitted) {
    return problem_page(503,
                        "the table is full and has no place for this key, so that nothing could be "
                        "given back; an override of unlimited ends its limit");
  }
  return state_page(results, denial);
}

Page inspect_fault_page(const gate::CheckFault& fault, const policy::PolicySet& policies,
                        std::string_view policy) {
  if (fault.reason == gate::CheckFault::Reason::unknown_policy) {
    return problem_page(404, policy::no_policy(policies, policy));
  }
  return problem_page(503, "there was no memory to look at it");
}

}  // namespace headgate::view
