#include "headgate/policy/file/read_sharing.h"

#include <string>

#include "headgate/policy/file/keys.h"
#include "headgate/policy/quantity.h"
#include "headgate/policy/text.h"

namespace headgate::policy {
namespace {

using limit::Sharing;
using yaml::Node;

void read_on_outage(const Node& node, Policy& policy, Faults& faults) {
  if (node.kind != yaml::Kind::map) {
    const auto word = read_choice<limit::OnOutage>(node, "on-outage", on_outage_words, faults);
    if (word) policy.on_outage = *word;
    return;
  }
  const MapReader map(node, "on-outage", on_outage_keys, faults);
  const Node* local = map.require("local", "a share of the quota like 25%");
  if (local == nullptr) return;
  const auto parse = [](std::string_view text) -> Parsed<unsigned> {
    auto percent = parse_percent(text, 100);
    if (percent && *percent == 0) {
      return Failure<std::string>("leaves nothing; expected 1% to 100%, or on-outage: deny");
    }
    return percent;
  };
  const auto percent = read_value<unsigned>(*local, "local", "1% to 100%", parse, faults);
  if (percent) policy.outage_percent = *percent;
}

}  // namespace

Sharing default_sharing(const Settings& settings) noexcept {
  return settings.redis ? Sharing::exact : Sharing::none;
}

void read_sharing(const MapReader& map, const Settings& settings, Policy& policy, Faults& faults) {
  policy.sharing = default_sharing(settings);
  if (const Node* node = map.find("sharing")) {
    const auto sharing = read_choice<Sharing>(*node, "sharing", sharing_words, faults);
    if (sharing && *sharing != Sharing::none && !settings.redis) {
      faults.add(node->at, "sharing " + in_quotes(node->text) +
                               " needs a store for several machines; expected store: {redis: "
                               "...}, or sharing: none");
    } else if (sharing) {
      policy.sharing = *sharing;
    }
  }
  if (const Node* node = map.find("on-outage")) {
    read_on_outage(*node, policy, faults);
    if (!settings.redis) {
      faults.add(node->at,
                 "on-outage has no meaning without store: {redis: ...}; expected no such key");
    } else if (policy.sharing == Sharing::none) {
      faults.add(node->at,
                 "on-outage has no meaning with sharing 'none', which needs no other machine; "
                 "expected no such key");
    }
  }
}

void refuse_leases(const MapReader& map, const Policy& policy, Faults& faults) {
  if (policy.sharing != Sharing::leased) return;
  using limit::Algorithm;
  const Position at = map.find("sharing")->at;
  const auto refuse = [&](const std::string& why) {
    faults.add(at, "sharing 'leased' " + why + ", or sharing: exact");
  };
  const Algorithm algorithm = policy.terms.algorithm;
  if (algorithm != Algorithm::linear && algorithm != Algorithm::fixed_window) {
    refuse(
        "needs a law under which units can be taken ahead, which only linear and fixed-window "
        "are; expected one of them");
  }
  if (policy.terms.calendar != nullptr) {
    refuse("needs windows of one length, which those of a calendar are not; expected no time-zone");
  }
  if (policy.terms.denied != limit::Denied::free) {
    refuse(
        "decides denials without Redis, so that they cannot cost anything; expected denied: "
        "free");
  }
  if (policy.terms.delay > 0) {
    refuse("decides without Redis, where the order of those who wait is; expected no delay");
  }
  if (policy.cost_time != CostTime::request) {
    refuse("needs costs that are known before the response; expected another cost");
  }
}

}  // namespace headgate::policy
