#include "headgate/policy/file/read_terms.h"

#include <initializer_list>
#include <optional>
#include <string_view>

#include "headgate/limit/law.h"
#include "headgate/policy/algorithm.h"
#include "headgate/policy/file/read_quota.h"
#include "headgate/policy/quantity.h"
#include "headgate/policy/text.h"

namespace headgate::policy {
namespace {

using limit::Algorithm;
using limit::Denied;
using yaml::Kind;
using yaml::Node;

Algorithm read_algorithm(const MapReader& policy, Algorithm unnamed, Faults& faults) {
  constexpr Choice<Algorithm> choices[] = {
      {"linear", Algorithm::linear},
      {"gcra", Algorithm::linear},
      {"token-bucket", Algorithm::linear},
      {"leaky-bucket", Algorithm::linear},
      {"exponential", Algorithm::exponential},
      {"fixed-window", Algorithm::fixed_window},
      {"sliding-window-counter", Algorithm::sliding_window_counter},
      {"moving-window", Algorithm::moving_window},
      {"concurrency", Algorithm::concurrency}};
  const Node* node = policy.find("algorithm");
  if (node == nullptr) return unnamed;
  return read_choice<Algorithm>(*node, "algorithm", choices, faults).value_or(unnamed);
}

// Returns the value of a key that only the algorithms `owners` use; adds a fault if another one has
// it.
const Node* find_own(const MapReader& policy, std::string_view key, Algorithm algorithm,
                     std::initializer_list<Algorithm> owners, Faults& faults) {
  const Node* node = policy.find(key);
  if (node == nullptr) return nullptr;
  std::vector<std::string_view> names;
  for (const Algorithm owner : owners) {
    if (owner == algorithm) return node;
    names.push_back(algorithm_name(owner));
  }
  faults.add(node->at, std::string(key) + " has no meaning with algorithm " +
                           in_quotes(algorithm_name(algorithm)) + "; expected it only with " +
                           alternatives(names));
  return nullptr;
}

void read_denied(const Node& node, limit::Terms& terms, Faults& faults) {
  if (node.kind == Kind::map) {
    constexpr Key keys[] = {{"penalty"}};
    const MapReader penalty(node, "denied", keys, faults);
    static_cast<void>(penalty.require("penalty", "a duration like 30s"));
    if (const auto span = read_duration(penalty, "penalty", faults)) {
      terms.denied = Denied::penalty;
      terms.penalty = *span;
    }
    return;
  }
  constexpr Choice<Denied> choices[] = {
      {"free", Denied::free}, {"spend", Denied::spend}, {"{penalty: 30s}", Denied::penalty}};
  terms.denied = read_choice<Denied>(node, "denied", choices, faults).value_or(Denied::free);
}

// Adds a fault if a denial can not cost what `denied` says: the algorithm must offer it, and the
// cost must be known when the request is denied.
void check_denied(Position at, CostTime cost_time, limit::Terms& terms, Faults& faults) {
  const std::string subject =
      terms.denied == Denied::spend ? "denied 'spend'" : "denied {penalty: ...}";
  if (!limit::offers(terms.algorithm, terms.denied)) {
    const bool spends = limit::offers(terms.algorithm, Denied::spend);
    faults.add(at, subject + " is not offered by algorithm " +
                       in_quotes(algorithm_name(terms.algorithm)) + "; expected free" +
                       (spends ? " or spend" : ""));
  } else if (terms.denied != Denied::free && cost_time == CostTime::response) {
    faults.add(
        at, subject +
                " has no meaning with a cost that is known only from the response, which a denied "
                "request never gets; expected free");
  } else {
    return;
  }
  terms.denied = Denied::free;
  terms.penalty = 0;
}

void read_alignment(const MapReader& policy, limit::Terms& terms, Faults& faults) {
  const auto owners = {Algorithm::fixed_window, Algorithm::sliding_window_counter};
  if (const Node* node = find_own(policy, "aligned", terms.algorithm, owners, faults)) {
    constexpr Choice<bool> choices[] = {{"true", true}, {"false", false}};
    terms.aligned = read_choice<bool>(*node, "aligned", choices, faults).value_or(true);
  }
  if (const Node* node = find_own(policy, "offset", terms.algorithm, owners, faults)) {
    terms.offset = read_duration(policy, "offset", faults, 0).value_or(0);
    if (!terms.aligned) {
      faults.add(node->at,
                 "offset has no meaning without 'aligned: true', which it moves; expected both");
    }
  }
}

}  // namespace

limit::Terms read_terms(const MapReader& policy, CostTime cost_time, Faults& faults,
                        Algorithm unnamed) {
  limit::Terms terms;
  terms.algorithm = read_algorithm(policy, unnamed, faults);
  terms.late = cost_time == CostTime::response && terms.algorithm != Algorithm::concurrency;
  if (const Node* node = policy.find("denied")) {
    read_denied(*node, terms, faults);
    check_denied(node->at, cost_time, terms, faults);
  }
  if (const Node* node =
          find_own(policy, "reset", terms.algorithm,
                   {Algorithm::linear, Algorithm::exponential, Algorithm::fixed_window,
                    Algorithm::moving_window, Algorithm::sliding_window_counter},
                   faults)) {
    constexpr Choice<limit::Reset> choices[] = {
        {"pace", limit::Reset::pace}, {"next", limit::Reset::next}, {"full", limit::Reset::full}};
    if (const auto reset = read_choice<limit::Reset>(*node, "reset", choices, faults)) {
      terms.reset = *reset;
    }
  }
  read_alignment(policy, terms, faults);
  if (const Node* node =
          find_own(policy, "log", terms.algorithm, {Algorithm::moving_window}, faults)) {
    const auto parse = [](std::string_view text) {
      return parse_integer(text, 1, limit::Terms::log_max);
    };
    const auto log = read_value<std::uint64_t>(*node, "log", "an integer", parse, faults);
    if (log) terms.log = static_cast<std::uint32_t>(*log);
  }
  if (const Node* node =
          find_own(policy, "lease", terms.algorithm, {Algorithm::concurrency}, faults)) {
    const auto lease = read_duration(policy, "lease", faults);
    if (lease && *lease > limit::Concurrency::lease_max) {
      faults.add(node->at, "lease " + in_quotes(node->text) +
                               " is out of range; expected 1ns to 4611686018s");
    } else if (lease) {
      terms.lease = *lease;
    }
  }
  return terms;
}

std::string read_unit(const MapReader& policy, limit::Algorithm algorithm, Faults& faults) {
  constexpr std::string_view expected =
      "requests, content-bytes, concurrent-requests or 1 to 64 printable ASCII characters of your "
      "own";
  constexpr std::string_view slots = "concurrent-requests";
  const bool counts_slots = algorithm == Algorithm::concurrency;
  const Node* node = policy.find("unit");
  if (node == nullptr) return std::string(counts_slots ? slots : "requests");
  const auto unit = read_text(*node, "unit", expected, faults);
  if (!unit) return {};
  if (!is_name(*unit)) {
    faults.add(node->at, "unit " + in_quotes(*unit) +
                             " can't stand in a RateLimit field; expected " +
                             std::string(expected));
  } else if (!counts_slots && *unit == slots) {
    faults.add(node->at, "unit 'concurrent-requests' has no meaning with algorithm " +
                             in_quotes(algorithm_name(algorithm)) +
                             "; expected algorithm concurrency");
  } else if (counts_slots && (*unit == "requests" || *unit == "content-bytes")) {
    faults.add(node->at, "unit " + in_quotes(*unit) +
                             " has no meaning with algorithm 'concurrency', which counts what is "
                             "in flight; expected concurrent-requests or a unit of your own");
  }
  return std::string(*unit);
}

}  // namespace headgate::policy
