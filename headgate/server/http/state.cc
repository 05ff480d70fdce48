#include "headgate/server/http/state.h"

#include <spdlog/spdlog.h>

#include "headgate/policy/file/spelling.h"
#include "headgate/server/http/page.h"
#include "headgate/server/http/problem.h"
#include "headgate/server/peer.h"
#include "headgate/view/partition_path.h"
#include "headgate/view/state_page.h"

namespace headgate::server {
namespace {

using MakePage = view::Page (*)(std::span<const gate::CheckResult> results,
                                const view::SeenDenial& denial);

// The last denial by any worker of the partition that was looked at.
view::SeenDenial last_denial(WorkerContext& worker, const DecisionJob& job) {
  const gate::CheckResult& looked_at = job.decision.results[0];
  view::SeenDenial seen{std::nullopt, worker.now()};
  const auto id = job.snapshot->labels().id(looked_at.name, looked_at.partition);
  if (!id) return seen;
  worker.engine().for_each_worker([&](const WorkerContext& each) {
    seen.last = view::later(seen.last, each.stats().recent().last_denials().find(*id));
  });
  return seen;
}

template <MakePage make>
void write(const DecisionJob& job, WorkerContext& worker, HttpReply& reply) {
  write_page(reply, make(job.decision.results, last_denial(worker, job)));
}

// Returns whether the answer is written or follows.
template <MakePage make>
bool inspect(Exchange& exchange, const view::PartitionPath& partition, gate::Refill refill) {
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
    write_page(exchange.reply,
               view::inspect_fault_page(*fault, snapshot.policies(), partition.policy));
    return false;
  }
  if (job->is_decided()) {
    write<make>(*job, worker, exchange.reply);
  } else {
    exchange.wait([](const HttpPending& pending, HttpDoorContext& door, HttpReply& reply) {
      write<make>(*pending.job, door.worker, reply);
    });
  }
  return true;
}

}  // namespace

void answer_state(Exchange& exchange) {
  const auto partition = view::PartitionPath::read(exchange.request.path(), "/v1/state/");
  if (!partition) return answer_problem(exchange, 404, partition.error());
  inspect<view::state_page>(exchange, *partition, gate::Refill::no);
}

void answer_reset(Exchange& exchange) {
  const auto partition = view::PartitionPath::read(exchange.request.path(), "/v1/state/");
  if (!partition) return answer_problem(exchange, 404, partition.error());
  if (!inspect<view::reset_page>(exchange, *partition, gate::Refill::yes)) return;
  spdlog::info("{} asks for a full quota of policy {} for key {}", peer_text(exchange.caller.fd),
               policy::in_quotes(partition->policy), policy::in_quotes(partition->key));
}

}  // namespace headgate::server
