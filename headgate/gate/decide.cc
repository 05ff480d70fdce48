// The walk of a decision interface: policies by name instead of a request to match.

#include <algorithm>
#include <new>

#include "headgate/gate/gate.h"

namespace headgate::gate {

std::optional<CheckFault> Gate::decide(std::span<const Check> checks, limit::Op op, Instant now,
                                       Ticket& ticket) const noexcept {
  ticket.verdict = {};
  ticket.results = {};
  ticket.gate = this;
  ticket.moment = ticket.now = now;
  if (const auto fault = name(checks, ticket)) return fault;

  if (ticket.matched > 0) {
    charge(std::span<const policy::Match>(ticket.scratch.matches).first(ticket.matched), DryRun::no,
           op, ticket);
    admit(ticket);
  }
  ticket.verdict.dues = {};
  if (op == limit::Op::spend) debit_late(checks, ticket);
  for (std::size_t i = 0; i < ticket.matched; ++i) {
    ticket.answers[ticket.check_of[ticket.match_of[i]]].decision = ticket.decisions[i];
  }
  ticket.results = std::span(ticket.answers).first(checks.size());
  return std::nullopt;
}

// Finds the policies and keys that the checks name: ticket.answers for all of them, matches for
// those that are limited.
std::optional<CheckFault> Gate::name(std::span<const Check> checks, Ticket& ticket) const noexcept {
  using Reason = CheckFault::Reason;
  if (checks.size() > ticket.answers.size()) {
    return CheckFault{ticket.answers.size(), Reason::too_many};
  }
  ticket.matched = 0;
  for (std::size_t i = 0; i < checks.size(); ++i) {
    const Check& check = checks[i];
    std::optional<policy::Match> match;
    try {
      match = policies_->named(check.policy, check.key, check.cost, ticket.names[i]);
    } catch (const std::bad_alloc&) {
      return CheckFault{i, Reason::out_of_memory};
    }
    if (!match) return CheckFault{i, Reason::unknown_policy};
    const bool limited = match->policy->mode != policy::Mode::off && !match->grant->unlimited;
    ticket.answers[i] = {match->policy, match->grant, limited, {.admitted = true}};
    if (!limited) continue;
    const auto others = std::span(ticket.scratch.matches).first(ticket.matched);
    if (std::any_of(others.begin(), others.end(),
                    [&](const policy::Match& other) { return other.key == match->key; })) {
      return CheckFault{i, Reason::asked_twice};
    }
    ticket.check_of[ticket.matched] = static_cast<std::uint8_t>(i);
    ticket.scratch.matches[ticket.matched++] = *match;
  }
  return std::nullopt;
}

// What was admitted because anything is left now costs what it costs.
void Gate::debit_late(std::span<const Check> checks, Ticket& ticket) const noexcept {
  bool debited = false;
  for (std::size_t i = 0; i < ticket.matched; ++i) {
    const policy::Match& match = ticket.scratch.matches[ticket.match_of[i]];
    const bool admitted =
        i < ticket.enforced ? ticket.verdict.violated.none() : ticket.decisions[i].admitted;
    if (!match.policy->is_late() || !admitted) continue;
    limit::Charge& charge = ticket.charges[i];
    charge.op = limit::Op::debit;
    charge.cost = checks[ticket.check_of[ticket.match_of[i]]].cost;
    store::Bundle bundle{{&charge, 1}, {&ticket.decisions[i], 1}};
    store_.take({&bundle, 1}, ticket.now, {});
    debited = true;
  }
  if (debited) itemise(ticket, 0);
}

}  // namespace headgate::gate
