#include "headgate/sim/simulator.h"

#include <new>
#include <utility>

namespace headgate::sim {
namespace {

// Returns what is wrong with a line whose "op" is release: only policies that count requests in
// flight have that operation.
std::optional<std::string> release_fault(const TraceLine& line, const policy::PolicySet& policies,
                                         std::string& buffer) {
  for (const Question& question : line.questions) {
    const auto match = policies.named(question.policy, question.key, question.cost, buffer);
    if (!match) return std::nullopt;  // the gate reports it
    if (match->policy->terms.algorithm != limit::Algorithm::concurrency) {
      return "policy \"" + question.policy +
             "\" does not count what is in flight, so nothing can be released; expected refund";
    }
  }
  return std::nullopt;
}

std::string text_of(const gate::CheckFault& fault, const TraceLine& line) {
  using Reason = gate::CheckFault::Reason;
  switch (fault.reason) {
    case Reason::unknown_policy:
      return "no policy is named \"" + line.questions[fault.check].policy + '"';
    case Reason::asked_twice:
      return "policy \"" + line.questions[fault.check].policy +
             "\" is asked twice for the same key; expected once a line";
    case Reason::too_many:
      return "expected at most " + std::to_string(policy::policies_per_request_max) + " policies";
    case Reason::too_long:  // not without a DueRoom
    case Reason::out_of_memory:
      break;
  }
  throw std::bad_alloc();
}

}  // namespace

// The secret is for keys that clients see; no client sees these.
Simulator::Simulator(std::shared_ptr<const policy::PolicySet> policies, store::Store& store)
    : gate_(std::move(policies), store, HashSecret{}, {}), summary_(gate_.policies().policies()) {
  context_.waits = gate::Waits::elsewhere;
}

Result<Answers, std::string> Simulator::apply(const TraceLine& line) {
  if (line.releases) {
    if (auto fault = release_fault(line, gate_.policies(), buffer_)) {
      return Failure<std::string>(*std::move(fault));
    }
  }
  checks_.clear();
  for (const Question& question : line.questions) {
    checks_.push_back({question.policy, question.key, question.cost});
  }
  if (const auto fault = gate_.decide(checks_, line.op, line.at, context_)) {
    return Failure<std::string>(text_of(*fault, line));
  }
  Answers answers = read_answers(line);
  count(line, answers);
  return answers;
}

Answers Simulator::read_answers(const TraceLine& line) const {
  Answers answers;
  Answer& verdict = answers.verdict;
  const bool denied = context_.verdict.outcome == gate::Outcome::denied;
  for (const gate::CheckResult& result : context_.results) {
    Answer& answer = answers.results.emplace_back();
    if (result.limited) answer = answer_of(result.decision);
    answer.taken = result.limited ? result.taken : !denied;
    if (result.enforced()) {
      if (stricter(answer, verdict)) verdict = answer;
    } else if (!line.several) {
      verdict = answer;
      verdict.admitted = true;
      verdict.wait = 0;
    }
  }
  return answers;
}

void Simulator::count(const TraceLine& line, const Answers& answers) {
  summary_.saw(line.at);
  if (line.op != limit::Op::spend) return;
  summary_.count_request(answers.verdict.admitted);
  for (std::size_t i = 0; i < context_.results.size(); ++i) {
    const gate::CheckResult& result = context_.results[i];
    if (result.limited || result.policy->mode == policy::Mode::off) continue;
    if (!answers.results[i].taken) continue;  // another policy denied the request
    summary_.count(*result.policy, *result.grant, result.partition, line.questions[i].cost, line.at,
                   true, answers.results[i].remaining, 0);
  }
  // What is limited, and the numbers beside it.
  for (std::size_t i = 0; i < context_.decided(); ++i) {
    const gate::PolicyDecision one = context_.decision(i);
    if (one.decision.admitted && !one.taken) continue;
    summary_.count(*one.match.policy, *one.match.grant, one.match.partition, one.match.cost,
                   line.at, one.taken, one.decision.remaining, one.decision.wait);
  }
}

}  // namespace headgate::sim
