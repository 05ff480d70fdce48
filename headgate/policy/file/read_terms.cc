#include "headgate/policy/file/read_terms.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "headgate/limit/law.h"
#include "headgate/policy/algorithm.h"
#include "headgate/policy/file/keys.h"
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
  const Node* node = policy.find("algorithm");
  if (node == nullptr) return unnamed;
  return read_choice<Algorithm>(*node, "algorithm", algorithm_words, faults).value_or(unnamed);
}

// Returns the value of one of own_keys; adds a fault if the algorithm does not use it.
const Node* find_own(const MapReader& policy, std::string_view key, Algorithm algorithm,
                     Faults& faults) {
  const Node* node = policy.find(key);
  if (node == nullptr) return nullptr;
  const auto own = std::find_if(std::begin(own_keys), std::end(own_keys),
                                [&](const OwnKey& other) { return other.key == key; });
  std::vector<std::string_view> names;
  for (const Algorithm owner : own->owners) {
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
    const MapReader penalty(node, "denied", denied_keys, faults);
    static_cast<void>(penalty.require("penalty", "a duration like 30s"));
    if (const auto span = read_duration(penalty, "penalty", faults)) {
      terms.denied = Denied::penalty;
      terms.penalty = *span;
    }
    return;
  }
  terms.denied = read_choice<Denied>(node, "denied", denied_words, faults).value_or(Denied::free);
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
  } else if (terms.denied != Denied::free && cost_time != CostTime::request) {
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
  if (const Node* node = find_own(policy, "aligned", terms.algorithm, faults)) {
    terms.aligned = read_choice<bool>(*node, "aligned", truths, faults).value_or(true);
  }
  if (const Node* node = find_own(policy, "offset", terms.algorithm, faults)) {
    terms.offset = read_duration(policy, "offset", faults, 0).value_or(0);
    if (!terms.aligned) {
      faults.add(node->at,
                 "offset has no meaning without 'aligned: true', which it moves; expected both");
    }
  }
}

// Adds faults for keys that say when windows begin, beside a time zone, which says that, too.
void check_time_zone(const MapReader& policy, limit::Terms& terms, Faults& faults) {
  if (find_own(policy, "time-zone", terms.algorithm, faults) == nullptr) return;
  terms.offset = 0;
  for (const std::string_view key : {"aligned", "offset"}) {
    if (const Node* node = policy.find(key)) {
      faults.add(node->at, std::string(key) +
                               " has no meaning with time-zone, whose days, weeks and months are "
                               "the windows; expected no such key");
    }
  }
}

}  // namespace

limit::Terms read_terms(const MapReader& policy, CostTime cost_time, Faults& faults,
                        Algorithm unnamed) {
  limit::Terms terms;
  for (const OwnKey& own : own_keys) {
    if (own.chooses && policy.has(own.key)) unnamed = own.owners.front();
  }
  terms.algorithm = read_algorithm(policy, unnamed, faults);
  terms.late = cost_time != CostTime::request && terms.algorithm != Algorithm::concurrency;
  if (const Node* node = policy.find("denied")) {
    read_denied(*node, terms, faults);
    check_denied(node->at, cost_time, terms, faults);
  }
  if (const Node* node = find_own(policy, "reset", terms.algorithm, faults)) {
    if (const auto reset = read_choice<limit::Reset>(*node, "reset", reset_words, faults)) {
      terms.reset = *reset;
    }
  }
  read_alignment(policy, terms, faults);
  check_time_zone(policy, terms, faults);
  for (const std::string_view key : {"delay", "delay-waiting"}) {
    static_cast<void>(find_own(policy, key, terms.algorithm, faults));  // read_delay() reads them
  }
  if (const Node* node = find_own(policy, "log", terms.algorithm, faults)) {
    const auto parse = [](std::string_view text) {
      return parse_integer(text, 1, limit::Terms::log_max);
    };
    const auto log = read_value<std::uint64_t>(*node, "log", "an integer", parse, faults);
    if (log) terms.log = static_cast<std::uint32_t>(*log);
  }
  if (const Node* node = find_own(policy, "lease", terms.algorithm, faults)) {
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
