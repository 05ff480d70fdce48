#include "headgate/server/http/overrides.h"

#include <spdlog/spdlog.h>

#include <optional>
#include <string>
#include <string_view>

#include "headgate/base/json_text.h"
#include "headgate/base/utf8.h"
#include "headgate/policy/file/spelling.h"
#include "headgate/policy/live/override_text.h"
#include "headgate/server/http/no_policy.h"
#include "headgate/server/http/partition_path.h"
#include "headgate/server/http/problem.h"
#include "headgate/server/peer.h"
#include "headgate/server/unix_time.h"
#include "headgate/server/worker_context.h"

namespace headgate::server {
namespace {

constexpr std::string_view head = "/v1/overrides/";

void refuse(Exchange& exchange, const OverrideRefusal& refusal) {
  using Reason = OverrideRefusal::Reason;
  switch (refusal.reason) {
    case Reason::no_file:
    case Reason::too_many:
      return answer_problem(exchange, 409, refusal.what);
    case Reason::unfit:
      return answer_problem(exchange, 422, refusal.what);
    case Reason::failed:
      return answer_problem(exchange, 503, refusal.what);
  }
}

std::string json_of(const policy::LiveOverride& override) {
  std::string out = "{";
  policy::append_members(out, override);
  return out + '}';
}

void answer_json(Exchange& exchange, const policy::LiveOverride& override) {
  exchange.door.text = json_of(override) + '\n';
  exchange.reply.begin(200);
  exchange.reply.end("application/json", exchange.door.text);
}

// Returns why the file could not keep this key, or "".
std::string complaint(std::string_view key) {
  if (key.size() > policy::override_key_max) {
    return "the key has " + std::to_string(key.size()) + " bytes; expected at most " +
           std::to_string(policy::override_key_max);
  }
  return is_utf8(key) ? "" : "the key is not UTF-8; expected text";
}

}  // namespace

Content overrides_page(Engine& engine, WorkerContext& worker, std::string_view) {
  const Overrides& overrides = worker.in_force().overrides();
  Content page{"application/json", {}};
  std::string& out = page.body;
  out.append(R"({"file":)");
  if (engine.overrides_file().empty()) {
    out.append("null");
  } else {
    append_json(out, std::string_view(engine.overrides_file()));
  }
  out.append(R"(,"overrides":[)");
  for (std::size_t i = 0; i < overrides.all.size(); ++i) {
    out.append(i == 0 ? "{" : ",{");
    policy::append_members(out, overrides.all[i]);
    out.append(R"(,"fault":)");
    if (overrides.faults[i].empty()) {
      out.append("null");
    } else {
      append_json(out, std::string_view(overrides.faults[i]));
    }
    out.push_back('}');
  }
  out.append("]}\n");
  return page;
}

void answer_set_override(Exchange& exchange) {
  const auto partition = PartitionPath::read(exchange.request.path(), head);
  if (!partition) return answer_problem(exchange, 404, partition.error());
  WorkerContext& worker = exchange.door.worker;
  const policy::PolicySet& policies = worker.in_force().policies();
  if (policies.find(partition->policy) == nullptr) {
    return answer_problem(exchange, 404, no_policy(policies, partition->policy));
  }
  if (const std::string what = complaint(partition->key); !what.empty()) {
    return answer_problem(exchange, 422, what);
  }
  const std::uint64_t now = unix_now();
  auto override = policy::read_override(exchange.request.body(), now);
  if (!override) {
    const std::size_t at = override.error().at;
    return answer_problem(exchange, 400,
                          "byte " + std::to_string(at) + ": " + override.error().what, at);
  }
  override->policy = partition->policy;
  override->key = partition->key;
  override->by = peer_text(exchange.caller.fd);
  if (const auto set = worker.engine().set_override(*override, now); !set) {
    return refuse(exchange, set.error());
  }
  spdlog::info("{} sets the override {}", override->by, json_of(*override));
  answer_json(exchange, *override);
}

void answer_remove_override(Exchange& exchange) {
  const auto partition = PartitionPath::read(exchange.request.path(), head);
  if (!partition) return answer_problem(exchange, 404, partition.error());
  const auto removed =
      exchange.door.worker.engine().remove_override(partition->policy, partition->key, unix_now());
  if (!removed) return refuse(exchange, removed.error());
  if (!*removed) {
    return answer_problem(exchange, 404,
                          "there is no override of policy " + policy::in_quotes(partition->policy) +
                              " for key " + policy::in_quotes(partition->key));
  }
  spdlog::info("{} removes the override {}", peer_text(exchange.caller.fd), json_of(**removed));
  answer_json(exchange, **removed);
}

}  // namespace headgate::server
