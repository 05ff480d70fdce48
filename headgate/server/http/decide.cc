#include "headgate/server/http/decide.h"

#include <string>

#include "headgate/base/json_text.h"
#include "headgate/base/writer.h"
#include "headgate/field/retry_after.h"
#include "headgate/policy/file/spelling.h"
#include "headgate/policy/no_policy.h"
#include "headgate/server/http/problem.h"
#include "headgate/server/reservation.h"

namespace headgate::server {
namespace {

using Reason = gate::CheckFault::Reason;

void answer_fault(Exchange& exchange, const gate::CheckFault& fault, const gate::Check& check,
                  const policy::PolicySet& policies) {
  const std::string where = "check " + std::to_string(fault.check) + ": ";
  switch (fault.reason) {
    case Reason::unknown_policy:
      return answer_problem(exchange, 404, where + policy::no_policy(policies, check.policy));
    case Reason::asked_twice:
      return answer_problem(
          exchange, 400,
          where + "policy " + policy::in_quotes(check.policy) + " is asked twice for the same key");
    case Reason::too_long:
      return answer_problem(exchange, 413, too_long_for_reservation);
    case Reason::too_many:
    case Reason::out_of_memory:
      return answer_problem(exchange, 503, where + "there was no memory to judge it");
  }
}

void append_wait(std::string& out, std::string_view name, std::optional<Nanos> value) {
  out.append(name);
  if (value) {
    append_json(out, *value);
  } else {
    out.append("null");
  }
}

void append_result(std::string& out, const gate::CheckResult& result) {
  const limit::Decision& decision = result.decision;
  const auto only_if = [](bool condition, std::uint64_t value) {
    return condition ? std::optional<Nanos>(value) : std::nullopt;
  };
  const bool waits = decision.wait != limit::Decision::never;
  out.append(R"({"policy":)");
  append_json(out, result.name);
  out.append(R"(,"admitted":)");
  append_json(out, decision.admitted);
  append_wait(out, R"(,"r":)", only_if(result.limited, decision.remaining));
  append_wait(
      out, R"(,"reset":)",
      only_if(result.limited && decision.reset != limit::Decision::no_reset, decision.reset));
  append_wait(out, R"(,"wait":)", only_if(waits, waits ? decision.retry_after() : 0));
  append_wait(out, R"(,"wait_ns":)", waits ? std::optional(decision.wait) : std::nullopt);
  out.push_back('}');
}

// Appends the header fields that a response to the client would have, with Retry-After.
void append_fields(std::string& out, const DecisionJob& job, HttpDoorContext& door) {
  Writer writer(door.fields);
  const char* separator = "";
  const auto begin = [&](std::string_view name) {
    out.append(separator);
    append_json(out, name);
    out.push_back(':');
    separator = ",";
  };
  for (const gate::Line& line : door.worker.write_fields(job, writer)) {
    begin(line.name);
    append_json(out, line.value);
  }
  const auto& retry_after = job.decision.verdict.retry_after;
  if (!retry_after) return;
  begin(field::retry_after_name);
  append_json(out, std::to_string(*retry_after));
}

template <DecideKind kind>
void write_answer(const DecisionJob& job, HttpDoorContext& door, HttpReply& reply) {
  const gate::DecisionContext& decision = job.decision;
  std::string& out = door.text;
  out.assign(R"({"admitted":)");
  const bool admitted = decision.verdict.outcome != gate::Outcome::denied;
  append_json(out, admitted);
  if (kind == DecideKind::reserve && admitted) {
    out.append(R"(,"reservation":")");
    append_reservation(decision, time_of(door.worker.engine().table()), out);
    out.push_back('"');
  }
  out.append(R"(,"results":[)");
  for (const gate::CheckResult& result : decision.results) {
    if (&result != decision.results.data()) out.push_back(',');
    append_result(out, result);
  }
  out.append(R"(],"fields":{)");
  append_fields(out, job, door);
  out.append("}}\n");
  door.worker.record(DoorKind::http, job);
  reply.begin(200);
  reply.end("application/json", out);
}

// Answers a decision that is not there yet.
template <DecideKind kind>
void finish(const HttpPending& pending, HttpDoorContext& door, HttpReply& reply) {
  write_answer<kind>(*pending.job, door, reply);
}

template <DecideKind kind>
void answer(Exchange& exchange) {
  HttpDoorContext& door = exchange.door;
  if (kind == DecideKind::reserve && exchange.request.body().size() > reserved_size_max) {
    return answer_problem(exchange, 413,
                          "expected at most " + std::to_string(reserved_size_max) +
                              " bytes, of which the reservation has the keys");
  }
  const auto request = door.decide.read(exchange.request.body(), kind);
  if (!request) return answer_fault(exchange, request.error());
  WorkerContext& worker = door.worker;
  DecisionJob* const job = worker.begin();
  if (job == nullptr) return answer_problem(exchange, 503, WorkerContext::too_many_wait);
  const gate::Gate& gate = job->snapshot->gate();
  const auto moment = worker.moment(*job);
  job->decision.waits = gate::Waits::elsewhere;
  const auto fault =
      kind == DecideKind::reserve
          ? gate.reserve(request->checks, moment, job->decision, job->begin(), reservation_room)
          : gate.decide(request->checks, request->op, moment, job->decision, job->begin());
  if (fault) {
    return answer_fault(exchange, *fault, request->checks[fault->check], job->snapshot->policies());
  }
  if (job->is_decided()) {
    write_answer<kind>(*job, door, exchange.reply);
  } else {
    exchange.wait(finish<kind>);
  }
}

}  // namespace

void answer_decide(Exchange& exchange) { answer<DecideKind::decide>(exchange); }
void answer_reserve(Exchange& exchange) { answer<DecideKind::reserve>(exchange); }

}  // namespace headgate::server
