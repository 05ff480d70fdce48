#include "headgate/server/http/settle.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "headgate/base/json_text.h"
#include "headgate/field/problem.h"
#include "headgate/policy/file/spelling.h"
#include "headgate/policy/no_policy.h"
#include "headgate/server/http/problem.h"
#include "headgate/server/reservation.h"

namespace headgate::server {
namespace {

using Costs = std::array<std::optional<std::uint64_t>, policy::policies_per_request_max>;

// Returns the cost of each due. One of a policy without a due is ignored: the policy is off, does
// not limit the key, would have denied in shadow mode, or was decided without Redis. Its caller
// cannot know that, and has other policies to settle.
Costs costs_of(std::span<const gate::Due> dues, std::span<const NamedCost> named) noexcept {
  Costs costs{};
  for (std::size_t i = 0; i < dues.size(); ++i) {
    const policy::Policy& policy = *dues[i].policy;
    for (const NamedCost& one : named) {
      if (policy.name == one.policy || policy.title() == one.policy) costs[i] = one.cost;
    }
  }
  return costs;
}

void answer_missing(Exchange& exchange, std::string_view name, const policy::PolicySet& policies) {
  answer_problem(exchange, 404,
                 policies.find(name) == nullptr ? policy::no_policy(policies, name)
                                                : "policy " + policy::in_quotes(name) +
                                                      " has not the quota that was reserved from");
}

void write_answer(const DecisionJob& job, HttpDoorContext& door, HttpReply& reply) {
  const gate::Settled settled = job.decision.settled;
  if (settled == gate::Settled::unknown || settled == gate::Settled::elsewhere) {
    reply.begin(503);
    return reply.end(field::problem_media_type,
                     problem_text(door, 503,
                                  settled == gate::Settled::elsewhere
                                      ? counted_elsewhere
                                      : "Redis did not answer in time, or refused, so that it is "
                                        "not known what was settled; try again"));
  }
  door.text.assign(R"({"settled":)");
  append_json(door.text, settled == gate::Settled::yes);
  door.text.append("}\n");
  reply.begin(200);
  reply.end("application/json", door.text);
}

}  // namespace

void answer_settle(Exchange& exchange) {
  HttpDoorContext& door = exchange.door;
  const auto request = door.settle.read(exchange.request.body());
  if (!request) return answer_fault(exchange, request.error());
  WorkerContext& worker = door.worker;
  DecisionJob* const job = worker.begin_settlement();
  if (job == nullptr) return answer_problem(exchange, 503, WorkerContext::too_many_wait);
  const auto read = ReadReservation::read(request->reservation, job->snapshot->policies(),
                                          time_of(worker.engine().table()), door.text);
  if (!read) {
    return answer_fault(
        exchange, {400, request->at, "the reservation is not a text that /v1/reserve answered"});
  }
  const gate::Reservation reservation = read->reservation();
  const policy::PolicySet& policies = job->snapshot->policies();
  const auto unknown = std::ranges::find_if(
      request->costs, [&](const NamedCost& one) { return policies.find(one.policy) == nullptr; });
  if (unknown != request->costs.end() && !read->gone()) {
    return answer_fault(exchange, {400, unknown->at, policy::no_policy(policies, unknown->policy)});
  }
  const Costs costs = costs_of(reservation.dues, request->costs);
  if (const auto missing = read->missing(costs)) {
    return answer_missing(exchange, *missing, policies);
  }
  if (!job->snapshot->gate().settle(reservation, costs, worker.moment(*job), job->decision,
                                    job->begin(), true)) {
    return answer_problem(exchange, 503, "there was no memory to settle it");
  }
  if (job->is_decided()) {
    write_answer(*job, door, exchange.reply);
  } else {
    exchange.wait([](const HttpPending& pending, HttpDoorContext& its_door, HttpReply& reply) {
      write_answer(*pending.job, its_door, reply);
    });
  }
}

}  // namespace headgate::server
