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
    if (sharing == Sharing::exact && !settings.redis) {
      faults.add(node->at,
                 "sharing 'exact' needs a store for several machines; expected store: {redis: "
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

}  // namespace headgate::policy
