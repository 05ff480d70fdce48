#include "headgate/server/resp/decide.h"

#include <string>

#include "headgate/base/instant.h"
#include "headgate/base/whole_number.h"
#include "headgate/server/reservation.h"

namespace headgate::server {
namespace {

std::int64_t reset_ms(const limit::Decision& decision) noexcept {
  if (decision.reset == limit::Decision::no_reset) return -1;
  return static_cast<std::int64_t>(decision.reset) * 1000;
}

std::int64_t wait_ms(const limit::Decision& decision) noexcept {
  if (decision.wait == limit::Decision::never) return -1;
  return ceil_milliseconds(decision.wait);
}

void write_reply(const Job& of, WorkerContext& worker, net::RespWriter& out) {
  const auto& job = static_cast<const DecisionJob&>(of);
  out.integers(figures_of(job));
  worker.record(DoorKind::resp, job);
}

}  // namespace

std::optional<std::uint64_t> read_cost(std::string_view text, net::RespWriter& out) {
  const auto cost = whole_number<std::uint64_t>(text);
  if (cost && *cost <= limit::Quota::units_max) return cost;
  out.error("ERR cost must be an integer from 0 to 999999999999999");
  return std::nullopt;
}

void write_fault(gate::CheckFault::Reason reason, std::string_view policy, net::RespWriter& out) {
  if (reason == gate::CheckFault::Reason::too_long) {
    return out.error("ERR " + std::string(too_long_for_reservation));
  }
  if (reason != gate::CheckFault::Reason::unknown_policy) return out.error("ERR out of memory");
  constexpr std::size_t shown_max = 64;  // longer than the usual policy's name
  out.error("ERR no policy is named \"" + std::string(policy.substr(0, shown_max)) + '"');
}

std::array<std::int64_t, 5> figures_of(const DecisionJob& job) noexcept {
  const gate::CheckResult& result = job.decision.results[0];
  if (!result.limited) return {1, -1, -1, -1, 0};
  const bool admitted = job.decision.verdict.outcome != gate::Outcome::denied;
  const limit::Decision& decision = result.decision;
  return {admitted ? 1 : 0, static_cast<std::int64_t>(result.grant->quota.units),
          static_cast<std::int64_t>(decision.remaining), reset_ms(decision),
          admitted && !decision.admitted ? 0 : wait_ms(decision)};
}

void answer_decide(limit::Op op, std::span<const std::string_view> call, WorkerContext& worker,
                   net::RespWriter& out, WaitingReplies& waiting) {
  gate::Check check{call[1], call[2], op == limit::Op::peek ? 0u : 1u};
  if (call.size() > 3) {
    check.cost = read_cost(call[3], out);
    if (!check.cost) return;
  }
  DecisionJob* const job = worker.begin();
  if (job == nullptr) return out.error("ERR " + std::string(WorkerContext::too_many_wait));
  job->decision.waits = gate::Waits::elsewhere;
  if (const auto fault = job->snapshot->gate().decide({&check, 1}, op, worker.moment(*job),
                                                      job->decision, job->begin())) {
    return write_fault(fault->reason, check.policy, out);
  }
  if (job->is_decided()) return write_reply(*job, worker, out);
  waiting.push(worker.lend(waiting.resume()), write_reply, out.version());
}

}  // namespace headgate::server
