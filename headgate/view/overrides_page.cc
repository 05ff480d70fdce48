#include "headgate/view/overrides_page.h"

#include <utility>

#include "headgate/base/json_members.h"
#include "headgate/base/json_text.h"
#include "headgate/base/utf8.h"
#include "headgate/policy/file/spelling.h"
#include "headgate/policy/live/override_text.h"
#include "headgate/policy/no_policy.h"
#include "headgate/view/problem_page.h"

namespace headgate::view {
namespace {

// Returns why the file could not keep this key, or "".
std::string complaint(std::string_view key) {
  if (key.size() > policy::override_key_max) {
    return "the key has " + std::to_string(key.size()) + " bytes; expected at most " +
           std::to_string(policy::override_key_max);
  }
  return is_utf8(key) ? "" : "the key is not UTF-8; expected text";
}

}  // namespace

Page overrides_page(std::string_view file, const policy::OverrideList& overrides) {
  Page page{"application/json", {}};
  std::string& out = page.body;
  out.append(R"({"file":)");
  if (file.empty()) {
    out.append("null");
  } else {
    append_json(out, file);
  }
  out.append(R"(,"overrides":[)");
  for (std::size_t i = 0; i < overrides.all.size(); ++i) {
    out.append(i == 0 ? "{" : ",{");
    policy::append_members(out, overrides.all[i]);
    const std::string_view fault = overrides.faults[i];
    append_member_if(!fault.empty(), out, "fault", fault);
    out.push_back('}');
  }
  out.append("]}\n");
  return page;
}

Result<policy::LiveOverride, Page> read_override_request(const PartitionPath& partition,
                                                         OverrideRequest request,
                                                         const policy::PolicySet& policies) {
  const auto fault = [](unsigned status, std::string_view detail,
                        std::optional<std::size_t> offset = {}) {
    return Failure<Page>(problem_page(status, detail, offset));
  };
  if (policies.find(partition.policy) == nullptr) {
    return fault(404, policy::no_policy(policies, partition.policy));
  }
  if (const std::string what = complaint(partition.key); !what.empty()) return fault(422, what);
  auto override = policy::read_override(request.body, request.now);
  if (!override) {
    const std::size_t at = override.error().at;
    return fault(400, "byte " + std::to_string(at) + ": " + override.error().what, at);
  }
  override->policy = partition.policy;
  override->key = partition.key;
  override->by = std::move(request.by);
  return *std::move(override);
}

Page override_page(const policy::LiveOverride& override) {
  return {"application/json", policy::json_of(override) + '\n'};
}

Page refusal_page(const policy::OverrideRefusal& refusal) {
  using Reason = policy::OverrideRefusal::Reason;
  switch (refusal.reason) {
    case Reason::no_file:
    case Reason::too_many:
      return problem_page(409, refusal.what);
    case Reason::unfit:
      return problem_page(422, refusal.what);
    case Reason::failed:
      break;
  }
  return problem_page(503, refusal.what);
}

Page no_override_page(const PartitionPath& partition) {
  return problem_page(404, "there is no override of policy " + policy::in_quotes(partition.policy) +
                               " for key " + policy::in_quotes(partition.key));
}

}  // namespace headgate::view
