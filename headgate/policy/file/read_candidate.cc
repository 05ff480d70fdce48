#include "headgate/policy/file/read_candidate.h"

#include <string>

#include "headgate/policy/file/keys.h"
#include "headgate/policy/file/read_grant.h"
#include "headgate/policy/file/read_quota.h"
#include "headgate/policy/quantity.h"

namespace headgate::policy {
namespace {

using yaml::Node;

// A share above 0 puts the candidate in force, which a policy that denies nothing cannot mean.
unsigned read_share(const MapReader& map, const Policy& live, Faults& faults) {
  const Node* node = map.find("share");
  if (node == nullptr) return 0;
  const auto parse = [](std::string_view text) { return parse_percent(text, 100); };
  const auto share = read_value<unsigned>(*node, "share", "0% to 100%", parse, faults);
  if (share.value_or(0) > 0 && live.mode != Mode::enforce) {
    faults.add(node->at, "share " + in_quotes(node->text) +
                             " of a policy that is not enforced; expected 0%, or mode: enforce");
  }
  return share.value_or(0);
}

void check_name(const Node& node, const Policy& live, Faults& faults) {
  constexpr std::size_t most = name_max - candidate_mark.size();
  if (live.name.size() <= most) return;
  faults.add(node.at, "candidate of a policy whose name has " + std::to_string(live.name.size()) +
                          " characters; expected at most " + std::to_string(most) + ", because " +
                          in_quotes(candidate_mark) + " is put behind it");
}

}  // namespace

std::optional<Candidate> read_candidate(const Node& node, const Policy& live, Faults& faults) {
  const MapReader map(node, "candidate", candidate_keys, faults);
  check_name(node, live, faults);
  const unsigned share = read_share(map, live, faults);
  if (!has_quota(map)) {
    if (map.valid()) {
      faults.add(node.at, "a candidate changes nothing; expected " + std::string(quota_spellings));
    }
    return std::nullopt;
  }
  const limit::Quota base =
      live.grants.empty() ? limit::Quota{1, nanos_per_second} : live.grants.front().quota;
  const auto quota = read_other_quota(map, base, live.terms, faults);
  if (!quota) return std::nullopt;
  auto grant = make_grant(*quota, live.terms, quota_position(map), faults);
  if (!grant) return std::nullopt;
  return Candidate{*std::move(grant), quota_position(map), share};
}

}  // namespace headgate::policy
