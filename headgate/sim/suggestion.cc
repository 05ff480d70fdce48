#include "headgate/sim/suggestion.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "headgate/base/ascii.h"
#include "headgate/sim/report/figures.h"
#include "headgate/sim/scenario.h"

namespace headgate::sim {
namespace {

constexpr std::uint32_t whole = 1'000'000;

// The most quotas per pass, and how many of them narrow down one search. More quotas would need
// fewer passes, but replaying a quota takes more than twice the time of reading the logs again.
constexpr std::size_t lanes_max = 8;
constexpr std::size_t tries = 2;

// The state of one search: the smallest sufficient quota is in (too_small, enough].
struct Bracket {
  std::uint64_t too_small = 0;
  std::optional<std::uint64_t> enough;

  [[nodiscard]] bool found() const noexcept {
    return too_small == limit::Quota::units_max || (enough && *enough - too_small <= 1);
  }
};

class Search {
 public:
  Search(std::shared_ptr<const policy::PolicySet> alone, std::size_t policy, Share share,
         const Traffic& traffic, std::size_t memory,
         const std::function<void(std::uint64_t)>& progress)
      : alone_(std::move(alone)),
        policy_(policy),
        share_(share),
        traffic_(traffic),
        memory_(memory),
        progress_(progress) {}

  Result<Suggestion, std::string> run() {
    Suggestion suggestion;
    const std::uint64_t quota = alone_->policies()[policy_].grants.front().quota.units;
    std::vector<std::uint64_t> quotas{quota, 0};
    for (std::uint64_t q = 1; quotas.size() < lanes_max; q *= 8) quotas.push_back(q);
    while (!quotas.empty()) {
      if (auto ran = evaluate(quotas); !ran) return Failure<std::string>(ran.error());
      quotas.clear();
      narrow(partitions_, &Search::spares_partitions, quotas);
      narrow(requests_, &Search::spares_requests, quotas);
    }
    suggestion.now = outcomes_.at(quota);
    suggestion.for_partitions = least(partitions_, &Search::spares_partitions);
    suggestion.for_requests = least(requests_, &Search::spares_requests);
    suggestion.unkept = unkept_;
    return suggestion;
  }

 private:
  using Spares = bool (Search::*)(const Outcome&) const;

  [[nodiscard]] bool spares_partitions(const Outcome& outcome) const {
    return share_.reached(outcome.partitions - outcome.partitions_denied, outcome.partitions);
  }
  [[nodiscard]] bool spares_requests(const Outcome& outcome) const {
    return share_.reached(outcome.requests - outcome.requests_denied, outcome.requests);
  }

  // Makes one pass, with a scenario for each quota that has no outcome yet.
  Result<void, std::string> evaluate(std::vector<std::uint64_t> quotas) {
    std::sort(quotas.begin(), quotas.end());
    quotas.erase(std::unique(quotas.begin(), quotas.end()), quotas.end());
    std::vector<std::uint64_t> tried;
    std::vector<std::unique_ptr<Scenario>> scenarios;
    for (const std::uint64_t quota : quotas) {
      policy::Change change;
      change.quota = quota;
      const auto changed = alone_->with(policy_, change);
      if (!changed) continue;  // beyond exact arithmetic, so it cannot be suggested
      auto scenario =
          Scenario::open(*changed, std::max(memory_ / lanes_max, store::TableOptions::memory_min),
                         {.measure = Measure::nothing, .policy = policy_});
      if (!scenario) return Failure<std::string>(scenario.error());
      tried.push_back(quota);
      scenarios.push_back(std::move(*scenario));
    }
    std::uint64_t requests = 0;
    auto replayed = traffic_.replay([&](Instant at, const LoggedRequest& record) {
      for (const auto& scenario : scenarios) scenario->play(record, at);
      progress_(++requests);
    });
    if (!replayed) return replayed;
    for (std::size_t i = 0; i < scenarios.size(); ++i) {
      const PolicyTotals totals = scenarios[i]->summary().totals(policy_);
      outcomes_[tried[i]] = {tried[i], totals.partitions, totals.partitions_denied,
                             totals.admitted + totals.denied, totals.denied};
      unkept_ += scenarios[i]->unkept();
    }
    return {};
  }

  // Narrows the search by the outcomes, and unless it is complete, adds the quotas to try next.
  void narrow(Bracket& bracket, Spares spares, std::vector<std::uint64_t>& quotas) const {
    const Bracket before = bracket;
    bracket = {};
    for (const auto& [quota, outcome] : outcomes_) {
      if ((this->*spares)(outcome)) {
        bracket.enough = std::min(bracket.enough.value_or(quota), quota);
      } else if (!bracket.enough) {
        bracket.too_small = std::max(bracket.too_small, quota);
      }
    }
    if (bracket.enough == 0) bracket.enough = 1;  // there were no requests with a cost
    if (bracket.found()) return;
    if (!bracket.enough) {
      if (quotas_are_exhausted(before, bracket)) {
        bracket.too_small = limit::Quota::units_max;
        return;
      }
      std::uint64_t next = bracket.too_small;
      for (std::size_t i = 0; i < lanes_max / 2; ++i) {
        next = std::min(next * 8, limit::Quota::units_max);
        quotas.push_back(next);
      }
      return;
    }
    const std::uint64_t span = *bracket.enough - bracket.too_small;
    const std::uint64_t count = std::min<std::uint64_t>(tries, span - 1);
    for (std::uint64_t i = 1; i <= count; ++i) {
      quotas.push_back(bracket.too_small +
                       static_cast<std::uint64_t>(static_cast<u128>(span) * i / (count + 1)));
    }
  }

  static bool quotas_are_exhausted(const Bracket& before, const Bracket& now) {
    return now.too_small == limit::Quota::units_max ||
           (now.too_small > 0 && now.too_small == before.too_small);
  }

  [[nodiscard]] std::optional<Outcome> least(const Bracket& bracket, Spares spares) const {
    for (const auto& [quota, outcome] : outcomes_) {
      if (quota > 0 && bracket.enough && quota >= *bracket.enough && (this->*spares)(outcome)) {
        return outcome;
      }
    }
    return std::nullopt;
  }

  std::shared_ptr<const policy::PolicySet> alone_;
  std::size_t policy_;
  Share share_;
  const Traffic& traffic_;
  std::size_t memory_;
  const std::function<void(std::uint64_t)>& progress_;
  std::map<std::uint64_t, Outcome> outcomes_;  // by quota
  std::uint64_t unkept_ = 0;
  Bracket partitions_;
  Bracket requests_;
};

// The number for the policy file; of bytes, also as people read them.
std::string quota_text(std::uint64_t quota, const std::string& unit) {
  return grouped(quota) + (is_bytes(unit) ? " (" + bytes_text(quota) + ")" : "");
}

}  // namespace

std::optional<Share> Share::parse(std::string_view text) {
  if (text.ends_with('%')) text.remove_suffix(1);
  text = trimmed(text);
  std::uint32_t value = 0;
  std::size_t at = 0;
  for (; at < text.size() && is_digit(text[at]) && at < 3; ++at) {
    value = value * 10 + static_cast<std::uint32_t>(text[at] - '0');
  }
  if (at == 0) return std::nullopt;
  value *= 10'000;
  if (at < text.size()) {
    if (text[at++] != '.' || at == text.size() || text.size() - at > 4) return std::nullopt;
    std::uint32_t unit = 1'000;
    for (; at < text.size(); ++at, unit /= 10) {
      if (!is_digit(text[at])) return std::nullopt;
      value += static_cast<std::uint32_t>(text[at] - '0') * unit;
    }
  }
  if (value == 0 || value > whole) return std::nullopt;
  return Share{value};
}

bool Share::reached(std::uint64_t part, std::uint64_t all) const noexcept {
  return static_cast<u128>(part) * whole >= static_cast<u128>(all) * millionths;
}

std::string Share::text() const {
  std::string text = std::to_string(millionths / 10'000);
  std::string rest = std::to_string(10'000 + millionths % 10'000).substr(1);
  rest.erase(rest.find_last_not_of('0') + 1);
  return text + (rest.empty() ? "" : "." + rest) + " %";
}

Result<Suggestion, std::string> suggest(const std::shared_ptr<const policy::PolicySet>& policies,
                                        std::size_t policy, Share share, const Traffic& traffic,
                                        std::size_t memory,
                                        const std::function<void(std::uint64_t)>& progress) {
  auto suggestion = Search(policies->only(policy), policy, share, traffic, memory, progress).run();
  if (suggestion) suggestion->policy = &policies->policies()[policy];
  return suggestion;
}

std::vector<std::string> suggestion_lines(const Suggestion& suggestion, Share share) {
  const std::string& unit = suggestion.policy->unit;
  std::vector<std::string> lines;
  using Count = decltype(&Outcome::requests);
  const auto add = [&](const char* what, const std::optional<Outcome>& outcome, Count denied,
                       Count all) {
    if (!outcome) {
      lines.push_back("no quota leaves " + share.text() + " of the " + what + " untouched");
      return;
    }
    lines.push_back("quota " + quota_text(outcome->quota, unit) + " leaves " + share.text() +
                    " of the " + grouped(*outcome.*all) + " " + what +
                    " untouched: " + grouped(*outcome.*denied) + " would be denied");
  };
  add("partitions", suggestion.for_partitions, &Outcome::partitions_denied, &Outcome::partitions);
  add("requests", suggestion.for_requests, &Outcome::requests_denied, &Outcome::requests);
  lines.push_back("quota " + quota_text(suggestion.now.quota, unit) +
                  " is what it has: " + grouped(suggestion.now.partitions_denied) +
                  " partitions, " + grouped(suggestion.now.requests_denied) + " requests denied");
  return lines;
}

std::string suggestion_text(const Suggestion& suggestion, Share share) {
  const policy::Policy& policy = *suggestion.policy;
  const limit::Quota& quota = policy.grants.front().quota;
  std::string out = "policy " + in_quotes(policy.name);
  if (quota.window > 0) out += ", in a window of " + duration_text(quota.window);
  out += ":\n";
  for (const std::string& line : suggestion_lines(suggestion, share)) out += "  " + line + '\n';
  return out;
}

std::string suggestion_json(const Suggestion& suggestion, Share share) {
  using Json = nlohmann::ordered_json;
  const auto json = [](const std::optional<Outcome>& outcome) -> Json {
    if (!outcome) return nullptr;
    return {{"quota", outcome->quota},
            {"partitions", outcome->partitions},
            {"partitions_denied", outcome->partitions_denied},
            {"requests", outcome->requests},
            {"requests_denied", outcome->requests_denied}};
  };
  const Json all = {{"policy", suggestion.policy->name},
                    {"share", static_cast<double>(share.millionths) / whole},
                    {"for_partitions", json(suggestion.for_partitions)},
                    {"for_requests", json(suggestion.for_requests)},
                    {"now", json(suggestion.now)}};
  return all.dump();
}

}  // namespace headgate::sim
