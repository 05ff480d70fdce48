#include "headgate/policy/boulder/read_boulder.h"

#include <optional>
#include <string>
#include <utility>

#include "headgate/field/date/go_duration.h"
#include "headgate/limit/boulder.h"
#include "headgate/limit/law.h"
#include "headgate/policy/boulder/name.h"
#include "headgate/policy/file/map_reader.h"
#include "headgate/policy/file/spelling.h"
#include "headgate/policy/match/counted.h"
#include "headgate/policy/match/registered_domain.h"
#include "headgate/policy/quantity.h"

namespace headgate::policy {
namespace {

using yaml::Kind;
using yaml::Node;

// Returns the form of an id in words, for display.
std::string_view words_of(BoulderId id) {
  switch (id) {
    case BoulderId::address:
      return "an IP address";
    case BoulderId::ipv6_range:
      return "an IPv6 /48";
    case BoulderId::account:
      return "a registration id";
    case BoulderId::account_identifier:
      return "a registration id, ':' and a domain or address";
    case BoulderId::domain:
      return "a registered domain, an IPv4 address or an IPv6 /64";
    case BoulderId::account_domain:
      return "a registration id, ':' and a registered domain, IPv4 address or IPv6 /64";
    case BoulderId::identifier_set:
      return "a set of domains and addresses";
  }
  return "";
}

Parsed<Nanos> parse_period(std::string_view text) {
  const auto period = field::parse_go_duration(text);
  if (!period) {
    return Failure<std::string>(
        "is not a duration of Go; expected numbers with a unit ns us ms s m h, like 1h30m");
  }
  if (*period < 1 || *period > limit::Quota::window_max) {
    return Failure<std::string>("is out of range; expected more than 0");
  }
  return *period;
}

// Reads burst, count and period. All three are required.
std::optional<BoulderParameters> read_parameters(const MapReader& map, Faults& faults) {
  const auto units = [&](std::string_view key) -> std::optional<std::uint64_t> {
    constexpr std::string_view expected = "an integer of at least 1";
    const Node* node = map.require(key, expected);
    if (node == nullptr) return std::nullopt;
    const auto parse = [](std::string_view text) {
      return parse_go_integer(text, 1, limit::Quota::units_max);
    };
    return read_value<std::uint64_t>(*node, key, expected, parse, faults);
  };
  const auto burst = units("burst");
  const auto count = units("count");
  std::optional<Nanos> period;
  if (const Node* node = map.require("period", "a duration like 180m")) {
    period = read_value<Nanos>(*node, "period", "a duration like 180m", parse_period, faults);
  }
  if (!burst || !count || !period) return std::nullopt;
  const auto quota = limit::boulder_quota(*burst, *count, *period);
  if (quota) return BoulderParameters{*burst, *count, *period, *quota};
  faults.add(map.find("count")->at,
             *period < static_cast<Nanos>(*count)
                 ? "count is more than one token per nanosecond; expected less, or a longer period"
                 : "a bucket takes too long to fill; expected burst x period / count of at most "
                   "999999999999999s");
  return std::nullopt;
}

}  // namespace

BoulderReader::BoulderReader() {
  limits_.reserve(boulder_names().size());
  for (const BoulderName& name : boulder_names()) {
    Limit& limit = limits_.emplace_back();
    limit.policy.name = name.name;
    limit.policy.grants.push_back({{}, true, limit::Closed{}});
    limit.policy.key_text = words_of(name.id);
    limit.policy.match_text = "no request: reached by its name alone";
    limit.rule.boulder = &name;
    append_counted(limit.rule.key_head, [&](std::string& out) { out.append(name.name); });
    if (name.id == BoulderId::domain || name.id == BoulderId::account_domain) {
      load_public_suffixes();
    }
  }
}

BoulderReader::Limit* BoulderReader::find(const Node& name, std::string_view where,
                                          Faults& faults) {
  const auto text = read_text(name, "the name of a limit", "one of Boulder's", faults);
  if (!text) return nullptr;
  for (Limit& limit : limits_) {
    if (limit.policy.name == *text) return &limit;
  }
  std::vector<std::string_view> names;
  for (const BoulderName& known : boulder_names()) names.push_back(known.name);
  refuse_word(name.at, std::string("limit in ") + std::string(where), *text, names, names, faults);
  return nullptr;
}

void BoulderReader::read_defaults(std::string_view text, Faults& faults) {
  static constexpr Key keys[] = {{"burst"}, {"count"}, {"period"}};
  const auto document = yaml::Document::parse(text, "a map of limits", faults);
  if (!document) return;
  const Node& root = document->root();
  if (root.kind != Kind::map) {
    faults.add(root.at, "the file is " + std::string(yaml::kind_name(root.kind)) +
                            "; expected a map from names of limits to burst, count and period");
    return;
  }
  std::map<const Limit*, std::uint32_t> lines;
  for (std::size_t i = 0; i + 1 < root.children.size(); i += 2) {
    const Node& name = *root.children[i];
    Limit* limit = find(name, "the defaults", faults);
    const MapReader map(*root.children[i + 1], "a default", keys, faults);
    const auto parameters = map.valid() ? read_parameters(map, faults) : std::nullopt;
    if (limit == nullptr || !parameters) continue;
    const auto [first, is_new] = lines.emplace(limit, name.at.line);
    if (!is_new) {
      faults.add(name.at, "duplicate limit " + in_quotes(name.text) +
                              "; expected it once, and line " + std::to_string(first->second) +
                              " has it already");
    }
    if (!limit->rule.boulder->has_default) continue;
    const auto law = limit::make_law(parameters->quota, {});
    limit->policy.grants.front() = {parameters->quota, false, law.value()};
  }
}

void BoulderReader::read_overrides(std::string_view text, Faults& faults) {
  const auto document = yaml::Document::parse(text, "a list of overrides", faults);
  if (!document) return;
  const Node& root = document->root();
  const auto entries = read_list(root, "the file", "a list of overrides", faults);
  if (root.kind == Kind::list && entries.empty()) {
    faults.add(root.at,
               "the file has no overrides; expected some, or no such file in the policy file");
  }
  for (const Node* entry : entries) read_override(*entry, faults);
}

void BoulderReader::read_override(const Node& entry, Faults& faults) {
  static constexpr Key keys[] = {{"burst"}, {"count"}, {"period"}, {"ids"}};
  if (entry.kind != Kind::map || entry.children.size() != 2) {
    faults.add(entry.at, "an override is " +
                             std::string(entry.kind == Kind::map ? "a map of several keys"
                                                                 : yaml::kind_name(entry.kind)) +
                             "; expected a map from the name of one limit");
    return;
  }
  Limit* limit = find(*entry.children[0], "the overrides", faults);
  const MapReader map(*entry.children[1], "an override", keys, faults);
  if (!map.valid()) return;
  const auto parameters = read_parameters(map, faults);
  const Node* ids = map.require("ids", "a list of ids");
  if (limit == nullptr || ids == nullptr) return;

  const std::uint32_t grant = parameters ? add_grant(*limit, *parameters) : 0;
  const auto items = read_list(*ids, "ids", "a list of ids", faults);
  if (ids->kind == Kind::list && items.empty()) {
    faults.add(ids->at, "ids is an empty list; expected at least one id");
  }
  for (const Node* item : items) read_id(*item, *limit, grant, faults);
}

std::uint32_t BoulderReader::add_grant(Limit& limit, const BoulderParameters& parameters) {
  const auto& [burst, count, period, quota] = parameters;
  const auto next = static_cast<std::uint32_t>(limit.policy.grants.size());
  const auto [known, is_new] = limit.grants.try_emplace({burst, count, period}, next);
  if (is_new) limit.policy.grants.push_back({quota, false, limit::make_law(quota, {}).value()});
  return known->second;
}

void BoulderReader::read_id(const Node& item, Limit& limit, std::uint32_t grant, Faults& faults) {
  static constexpr Key keys[] = {{"id"}, {"comment"}};
  const Node* node = &item;
  if (item.kind == Kind::map) {
    const MapReader described(item, "an id", keys, faults);
    if (const Node* comment = described.find("comment"); comment && comment->kind != Kind::empty) {
      static_cast<void>(read_text(*comment, "comment", "a text", faults));
    }
    node = described.require("id", "it together with 'comment'");
    if (node == nullptr) return;
  }
  const auto id = read_text(*node, "an id", "a text, or a map with 'id' and 'comment'", faults);
  if (!id) return;
  const std::string complaint = limit.rule.boulder->complaint(*id);
  if (!complaint.empty()) {
    faults.add(node->at, "id " + in_quotes(*id) + " " + complaint);
    return;
  }
  const std::string unused = limit.rule.boulder->unused(*id);
  if (!unused.empty()) {
    faults.warn(node->at, "id " + in_quotes(*id) + " " + unused);
    return;
  }
  std::string normal;
  limit.rule.boulder->append_normal(*id, normal);
  limit.rule.overrides.insert_or_assign(std::move(normal), Override{grant, std::nullopt});
}

void BoulderReader::add_to(PolicySet::Rules& rules, Position at, Faults& faults) {
  for (Limit& limit : limits_) {
    if (rules.policies.size() == policies_max) {
      faults.add(at, "boulder brings " + std::to_string(limits_.size()) +
                         " policies, with which there are more than " +
                         std::to_string(policies_max) + "; expected fewer");
      return;
    }
    limit.policy.index = rules.policies.size();
    if (!rules.by_name.emplace(limit.policy.name, limit.policy.index).second) {
      faults.add(at, "boulder brings a policy " + in_quotes(limit.policy.name) +
                         ", and there is one of that name; expected another name for yours");
    }
    rules.policies.push_back(std::move(limit.policy));
    rules.rules.push_back(std::move(limit.rule));
  }
}

}  // namespace headgate::policy
