#include "headgate/server/resp/reserve.h"

#include <array>
#include <optional>
#include <string>

#include "headgate/server/reservation.h"
#include "headgate/server/resp/decide.h"

namespace headgate::server {
namespace {

void write_reservation(const Job& of, WorkerContext& worker, net::RespWriter& out) {
  const auto& job = static_cast<const DecisionJob&>(of);
  const std::array<std::int64_t, 5> figures = figures_of(job);
  out.array(figures.size() + 1);
  for (const std::int64_t figure : figures) out.integer(figure);
  if (job.decision.verdict.outcome == gate::Outcome::denied) {
    out.null();
  } else {
    std::string text;
    append_reservation(job.decision, time_of(worker.engine().table()), text);
    out.bulk(text);
  }
  worker.record(DoorKind::resp, job);
}

void write_settled(const Job& of, WorkerContext&, net::RespWriter& out) {
  const gate::Settled settled = static_cast<const DecisionJob&>(of).decision.settled;
  if (settled == gate::Settled::unknown) {
    return out.error(
        "TRYAGAIN Redis did not answer in time, or refused, so that it is not known what was "
        "settled");
  }
  if (settled == gate::Settled::elsewhere) {
    return out.error("TRYAGAIN " + std::string(counted_elsewhere));
  }
  out.integer(settled == gate::Settled::yes ? 1 : 0);
}

}  // namespace

void answer_reserve(std::span<const std::string_view> call, WorkerContext& worker,
                    net::RespWriter& out, WaitingReplies& waiting) {
  const gate::Check check{call[1], call[2], read_cost(call[3], out)};
  if (!check.cost) return;
  if (check.key.size() > reserved_size_max) {
    return out.error("ERR the key is too long: expected at most " +
                     std::to_string(reserved_size_max) + " bytes");
  }
  DecisionJob* const job = worker.begin();
  if (job == nullptr) return out.error("ERR " + std::string(WorkerContext::too_many_wait));
  job->decision.waits = gate::Waits::elsewhere;
  if (const auto fault = job->snapshot->gate().reserve(
          {&check, 1}, worker.moment(*job), job->decision, job->begin(), reservation_room)) {
    return write_fault(fault->reason, check.policy, out);
  }
  if (job->is_decided()) return write_reservation(*job, worker, out);
  waiting.push(worker.lend(waiting.resume()), write_reservation, out.version());
}

void answer_settle(std::span<const std::string_view> call, WorkerContext& worker,
                   net::RespWriter& out, WaitingReplies& waiting) {
  const auto cost = read_cost(call[2], out);
  if (!cost) return;
  DecisionJob* const job = worker.begin();
  if (job == nullptr) return out.error("ERR " + std::string(WorkerContext::too_many_wait));
  std::string bytes;
  const auto read = ReadReservation::read(call[1], job->snapshot->policies(),
                                          time_of(worker.engine().table()), bytes);
  if (!read) return out.error("ERR the reservation is not what HG.RESERVE replied");
  const gate::Reservation reservation = read->reservation();
  std::array<std::optional<std::uint64_t>, policy::policies_per_request_max> costs;
  costs.fill(cost);
  if (const auto missing = read->missing(costs)) {
    const policy::Policy* const policy = job->snapshot->policies().find(*missing);
    if (policy == nullptr) {
      return write_fault(gate::CheckFault::Reason::unknown_policy, *missing, out);
    }
    return out.error("ERR policy \"" + policy->name +
                     "\" has not the quota that was reserved from");
  }
  if (!job->snapshot->gate().settle(reservation, costs, worker.moment(*job), job->decision,
                                    job->begin())) {
    return out.error("ERR out of memory");
  }
  if (job->is_decided()) return write_settled(*job, worker, out);
  waiting.push(worker.lend(waiting.resume()), write_settled, out.version());
}

}  // namespace headgate::server
