#include "headgate/policy/file/read_delay.h"

#include <string>

#include "headgate/limit/law.h"
#include "headgate/policy/file/read_quota.h"
#include "headgate/policy/quantity.h"
#include "headgate/policy/text.h"

namespace headgate::policy {
namespace {

using yaml::Node;

void read_most(const Node& node, Policy& policy, Faults& faults) {
  const auto parse = [](std::string_view text) {
    return parse_integer(text, 1, delay_waiting_max);
  };
  const auto most = read_value<std::uint64_t>(node, "delay-waiting", "an integer", parse, faults);
  if (most) policy.delay_waiting = static_cast<std::uint32_t>(*most);
  if (policy.terms.delay == 0) {
    faults.add(node.at, "delay-waiting has no meaning without delay; expected both");
  }
}

}  // namespace

void read_delay(const MapReader& map, Policy& policy, Faults& faults) {
  // With another algorithm both keys are faults already.
  if (!limit::can_wait(policy.terms.algorithm)) return;
  if (const Node* node = map.find("delay")) {
    const auto delay = read_duration(map, "delay", faults, 0);
    const auto refuse = [&](const std::string& why) { faults.add(node->at, "delay " + why); };
    if (delay && *delay > delay_max) {
      refuse(in_quotes(node->text) + " is longer than clients wait; expected at most 60s");
    } else if (policy.terms.denied != limit::Denied::free) {
      refuse("has no meaning where a denial costs something; expected denied: free");
    } else if (policy.is_late()) {
      refuse(
          "needs a cost that is known when the request comes; expected an integer, request-bytes, "
          "{request-header: NAME} or {reserve: ..., settle: ...}");
    } else {
      policy.terms.delay = delay.value_or(0);
    }
    if (!delay) return;
  }
  if (const Node* node = map.find("delay-waiting")) read_most(*node, policy, faults);
}

}  // namespace headgate::policy
