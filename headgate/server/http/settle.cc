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

// Writes the cost of each due. Returns the first cost that belongs to none.
const NamedCost* find_costs(std::span<const NamedCost> named, std::span<const gate::Due> dues,
                            Costs& costs) noexcept {
  const NamedCost* unused = nullptr;
  for (const NamedCost& one : named) {
    bool is_used = false;
    for (std::size_t i = 0; i < dues.size(); ++i) {
      const policy::Policy& policy = *dues[i].policy;
      if (policy.name != one.policy && policy.title() != one.policy) continue;
      costs[i] = one.cost;
      is_used = true;
    }
    if (!is_used && unused == nullptr) unused = &one;
  }
  return unused;
}

void answer_missing(Exchange& exchange, std::string_view name, const policy::PolicySet& policies) {
  answer_problem(exchange, 404,
                 policies.find(name) == nullptr ? policy::no_policy(policies, name)
                                                : "policy " + policy::in_quotes(name) +
                                                      " has not the quota that was reserved from");
}

void write_answer(const DecisionJob& job, HttpDoorContext& door, HttpReply& reply) {
  if (job.decision.settled == gate::Settled::unknown) {
    reply.begin(503);
    return reply.end(field::problem_media_type,
                     problem_text(door, 503, "Redis is away, so nothing was settled; try again"));
  }
  door.text.assign(R"({"settled":)");
  append_json(door.text, job.decision.settled == gate::Settled::yes);
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
  DecisionJob* const job = worker.begin();
  if (job == nullptr) return answer_problem(exchange, 503, WorkerContext::too_many_wait);
  const auto read = ReadReservation::read(request->reservation, job->snapshot->policies(),
                                          time_of(worker.engine().table()), door.text);
  if (!read) {
    return answer_fault(
        exchange, {400, request->at, "the reservation is not a text that /v1/reserve answered"});
  }
  const gate::Reservation reservation = read->reservation();
  Costs costs{};
  const NamedCost* const unused = find_costs(request->costs, reservation.dues, costs);
  if (unused != nullptr && !read->gone()) {
    return answer_fault(
        exchange, {400, unused->at,
                   "the reservation has no units of policy " + policy::in_quotes(unused->policy)});
  }
  if (const auto missing = read->missing(costs)) {
    return answer_missing(exchange, *missing, job->snapshot->policies());
  }
  if (!job->snapshot->gate().settle(reservation, costs, worker.moment(*job), job->decision,
                                    job->begin())) {
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
