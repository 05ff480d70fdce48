#include "headgate/sim/simulator.h"

#include <algorithm>
#include <utility>

namespace headgate::sim {
namespace {

bool limited(const policy::Match& match) {
  return match.policy->mode != policy::Mode::off && !match.grant->unlimited;
}

}  // namespace

Simulator::Simulator(std::shared_ptr<const policy::PolicySet> policies, store::Store& store)
    : policies_(std::move(policies)),
      store_(store),
      summary_(policies_->policies()),
      keys_(policy::policies_max) {}

Result<Answers, std::string> Simulator::apply(const TraceLine& line) {
  const std::size_t n = line.questions.size();
  std::vector<policy::Match> matches;
  for (std::size_t i = 0; i < n; ++i) {
    const Question& asked = line.questions[i];
    auto match = policies_->named(asked.policy, asked.key, asked.cost, keys_[i]);
    if (!match) {
      return Failure<std::string>("no policy is named \"" + asked.policy + '"');
    }
    const bool again = std::any_of(matches.begin(), matches.end(),
                                   [&](const auto& other) { return other.key == match->key; });
    if (again) {
      return Failure<std::string>("policy \"" + asked.policy +
                                  "\" is asked twice for the same key; expected once a line");
    }
    if (line.releases && match->policy->terms.algorithm != limit::Algorithm::concurrency) {
      return Failure<std::string>("policy \"" + asked.policy +
                                  "\" does not count what is in flight, so nothing can be "
                                  "released; expected refund");
    }
    match->cost = asked.cost;  // also beyond the quota units that a policy can have
    matches.push_back(*match);
  }

  // Enforced charges first: they are one bundle. Each shadow charge behind them is its own.
  std::vector<std::size_t> order;
  for (const policy::Mode mode : {policy::Mode::enforce, policy::Mode::shadow}) {
    for (std::size_t i = 0; i < n; ++i) {
      if (limited(matches[i]) && matches[i].policy->mode == mode) order.push_back(i);
    }
  }
  const auto is_enforced = [&](std::size_t i) {
    return matches[i].policy->mode == policy::Mode::enforce;
  };
  const auto enforced =
      static_cast<std::size_t>(std::count_if(order.begin(), order.end(), is_enforced));
  const auto is_late = [&](std::size_t i) {
    return line.op == limit::Op::spend && matches[i].policy->is_late();
  };
  std::vector<store::Charge> charges;
  for (const std::size_t i : order) {
    const auto& [cost, op] = is_late(i) ? std::pair<std::uint64_t, limit::Op>{1, limit::Op::peek}
                                        : std::pair{matches[i].cost, line.op};
    charges.push_back({&matches[i].grant->law, matches[i].key, cost, op});
  }
  std::vector<limit::Decision> decisions(charges.size());
  std::vector<store::Bundle> bundles;
  const auto bundle = [&](std::size_t first, std::size_t count) {
    bundles.push_back(
        {std::span(charges).subspan(first, count), std::span(decisions).subspan(first, count)});
  };
  if (enforced > 0) bundle(0, enforced);
  for (std::size_t i = enforced; i < order.size(); ++i) bundle(i, 1);
  if (!bundles.empty()) store_.take(bundles, line.at, {});
  for (store::Bundle& taken : bundles) {
    if (!taken.admitted) continue;
    const auto first = static_cast<std::size_t>(taken.charges.data() - charges.data());
    for (std::size_t i = first; i < first + taken.charges.size(); ++i) {
      if (!is_late(order[i])) continue;
      charges[i].cost = matches[order[i]].cost;
      charges[i].op = limit::Op::debit;
      store::Bundle debit{std::span(charges).subspan(i, 1), std::span(decisions).subspan(i, 1)};
      store_.take({&debit, 1}, line.at, {});
    }
  }

  Answers answers;
  answers.results.resize(n);
  for (std::size_t i = 0; i < order.size(); ++i) {
    answers.results[order[i]] = answer_of(decisions[i]);
  }
  for (std::size_t i = 0; i < n; ++i) {
    Answer& verdict = answers.verdict;
    if (is_enforced(i)) {
      if (stricter(answers.results[i], verdict)) verdict = answers.results[i];
    } else if (!line.several) {
      verdict = answers.results[i];
      verdict.admitted = true;
      verdict.wait = 0;
    }
  }

  summary_.saw(line.at);
  if (line.op != limit::Op::spend) return answers;
  summary_.count_request(answers.verdict.admitted);
  for (std::size_t i = 0; i < n; ++i) {
    // Off policies are not asked. Nothing is taken from an enforced one when another denies.
    if (matches[i].policy->mode == policy::Mode::off) continue;
    const bool admitted = answers.results[i].admitted;
    const bool taken = admitted && (answers.verdict.admitted || !is_enforced(i));
    if (admitted && !taken) continue;
    summary_.count(matches[i], matches[i].partition, matches[i].cost, line.at, taken,
                   answers.results[i].remaining);
  }
  return answers;
}

}  // namespace headgate::sim
