#include "headgate/server/http/auth.h"

#include <string_view>

#include "headgate/base/whole_number.h"
#include "headgate/field/problem.h"
#include "headgate/field/retry_after.h"
#include "headgate/server/accepts_problem.h"
#include "headgate/server/http/problem.h"

namespace headgate::server {
namespace {

// Returns the first `deny` of a query: the proxy writes it first, and a client may add others.
std::optional<std::string_view> deny_argument(std::string_view query) noexcept {
  constexpr std::string_view name = "deny=";
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    if (pair.starts_with(name)) return pair.substr(name.size());
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
  }
  return std::nullopt;
}

std::optional<unsigned> error_status(std::string_view text) noexcept {
  const auto status = whole_number<unsigned>(text);
  if (!status || *status < 400 || *status > 599) return std::nullopt;
  return status;
}

std::string_view word(Guess guess) noexcept {
  return guess == Guess::no_uri ? "no-uri" : "malformed-uri";
}

// Writes the verdict as fields, for proxies that do not forward the status or the body.
void write_verdict(const gate::Verdict& verdict, HttpReply& reply) {
  reply.field("X-Headgate-Verdict", verdict.word());
  if (verdict.outcome == gate::Outcome::denied) reply.field("X-Headgate-Status", verdict.status());
  if (verdict.denier != nullptr) reply.field("X-Headgate-Policy", verdict.denier->title());
  if (verdict.remaining) reply.field("X-Headgate-Remaining", *verdict.remaining);
}

void write_answer(DecisionJob& job, const AuthTerms& terms, HttpDoorContext& door,
                  HttpReply& reply) {
  if (const Nanos hold = job.decision.verdict.hold; hold > 0) reply.hold(hold, job.take_waiting());
  const gate::Verdict& verdict = job.decision.verdict;
  const bool denied = verdict.outcome == gate::Outcome::denied;
  reply.begin(!denied ? 200 : terms.deny_status.value_or(verdict.status()));
  if (verdict.retry_after) reply.field(field::retry_after_name, *verdict.retry_after);
  Writer out(door.fields);
  for (const gate::Line& line : door.worker.write_fields(job, out)) {
    reply.field(line.name, line.value);
  }
  if (terms.deny_status) write_verdict(verdict, reply);
  if (terms.guess != Guess::none) reply.field("X-Headgate-Note", word(terms.guess));
  door.worker.record(DoorKind::http, job);

  Writer body(door.fields);  // the reply has copied the fields that were written there
  if (denied && terms.wants_problem &&
      job.snapshot->gate().field_writer().write_problem(verdict, body)) {
    reply.end(field::problem_media_type, body.text());
  } else {
    reply.end();
  }
}

}  // namespace

void answer_auth(Exchange& exchange) {
  const HttpRequest& request = exchange.request;
  const auto deny = deny_argument(request.query());
  const auto deny_status = deny ? error_status(*deny) : std::nullopt;
  if (deny && !deny_status) {
    return answer_problem(exchange, 400, "deny: expected a status from 400 to 599");
  }
  WorkerContext& worker = exchange.door.worker;
  DecisionJob* const job = worker.begin();
  if (job == nullptr) return answer_problem(exchange, 503, WorkerContext::too_many_wait);
  const policy::Settings& settings = job->snapshot->policies().settings();
  const bool by_field = exchange.door.credentials.now().wants_token() &&
                        !request.first("x-headgate-token").has_value();
  const auto original = OriginalRequest::read(
      {request, request.method(), exchange.caller.peer, by_field}, settings.client_address);
  if (!original) return answer_problem(exchange, 400, original.error());

  const gate::Verdict& verdict = job->decision.verdict;
  job->decision.waits = gate::Waits::here;
  WorkerContext::note(*job, original->request());
  job->snapshot->gate().admit(original->request(), worker.moment(*job), gate::DryRun::no,
                              job->decision, job->begin());
  AuthTerms terms{deny_status, original->guess()};
  const bool may_be_denied = !job->is_decided() || verdict.outcome == gate::Outcome::denied;
  terms.wants_problem = may_be_denied && settings.problem_details && accepts_problem(request);
  if (job->is_decided()) {
    write_answer(*job, terms, exchange.door, exchange.reply);
  } else {
    exchange.wait([](const HttpPending& pending, HttpDoorContext& door,
                     HttpReply& reply) { write_answer(*pending.job, pending.auth, door, reply); },
                  terms);
  }
}

}  // namespace headgate::server
