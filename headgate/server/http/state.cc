#include "headgate/server/http/state.h"

#include <spdlog/spdlog.h>

#include <span>
#include <string>
#include <string_view>

#include "headgate/base/json_members.h"
#include "headgate/base/json_text.h"
#include "headgate/field/problem.h"
#include "headgate/policy/file/spelling.h"
#include "headgate/server/http/no_policy.h"
#include "headgate/server/http/partition_path.h"
#include "headgate/server/http/problem.h"
#include "headgate/server/peer.h"

namespace headgate::server {
namespace {

// A wait twice: in seconds under `name`, and in nanoseconds. null: waiting does not help, or
// the time cannot be known.
void append_wait(std::string& out, std::string_view name, const limit::Decision& decision) {
  const bool known = decision.wait != limit::Decision::never;
  append_member_if(known, out, name, known ? ceil_seconds(decision.wait) : 0);
  append_member_if(known, out, std::string(name) + "_ns", decision.wait);
}

// The results are those of gate::Gate::inspect().
void append_state(std::string& out, std::span<const gate::CheckResult> results) {
  const gate::CheckResult& now = results[0];
  const limit::Decision& one = results[1].decision;
  const limit::Decision& whole = results[2].decision;
  const policy::Policy& policy = *now.policy;
  const limit::Quota& quota = now.grant->quota;
  out.append(R"({"policy":)");
  append_json(out, now.name);
  append_member(out, "key", now.partition);
  append_member(out, "limited", now.limited);
  append_member(out, "enforced", now.enforced());
  append_member(out, "override", now.grant != policy.grants.data());
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
  out.append("}\n");
}

void write_state(const DecisionJob& job, HttpDoorContext& door, HttpReply& reply) {
  door.text.clear();
  append_state(door.text, job.decision.results);
  reply.begin(200);
  reply.end("application/json", door.text);
}

void write_reset(const DecisionJob& job, HttpDoorContext& door, HttpReply& reply) {
  if (!job.decision.results[0].outage) return write_state(job, door, reply);
  reply.begin(503);
  reply.end(field::problem_media_type,
            problem_text(door, 503, "Redis is away, so that nothing could be given back"));
}

using Write = void (*)(const DecisionJob& job, HttpDoorContext& door, HttpReply& reply);

// Returns whether the answer is written or follows.
template <Write write>
bool inspect(Exchange& exchange, const PartitionPath& partition, gate::Refill refill) {
  WorkerContext& worker = exchange.door.worker;
  DecisionJob* const job = worker.begin();
  if (job == nullptr) {
    answer_problem(exchange, 503, WorkerContext::too_many_wait);
    return false;
  }
  const PolicySnapshot& snapshot = *job->snapshot;
  const auto fault = snapshot.gate().inspect(partition.policy, partition.key, refill,
                                             worker.moment(*job), job->decision, job->begin());
  if (fault) {
    if (fault->reason == gate::CheckFault::Reason::unknown_policy) {
      answer_problem(exchange, 404, no_policy(snapshot.policies(), partition.policy));
    } else {
      answer_problem(exchange, 503, "there was no memory to look at it");
    }
    return false;
  }
  if (job->is_decided()) {
    write(*job, exchange.door, exchange.reply);
  } else {
    exchange.wait([](const HttpPending& pending, HttpDoorContext& door, HttpReply& reply) {
      write(*pending.job, door, reply);
    });
  }
  return true;
}

}  // namespace

void answer_state(Exchange& exchange) {
  const auto partition = PartitionPath::read(exchange.request.path(), "/v1/state/");
  if (!partition) return answer_problem(exchange, 404, partition.error());
  inspect<write_state>(exchange, *partition, gate::Refill::no);
}

void answer_reset(Exchange& exchange) {
  const auto partition = PartitionPath::read(exchange.request.path(), "/v1/state/");
  if (!partition) return answer_problem(exchange, 404, partition.error());
  if (!inspect<write_reset>(exchange, *partition, gate::Refill::yes)) return;
  spdlog::info("{} asks for a full quota of policy {} for key {}", peer_text(exchange.caller.fd),
               policy::in_quotes(partition->policy), policy::in_quotes(partition->key));
}

}  // namespace headgate::server
