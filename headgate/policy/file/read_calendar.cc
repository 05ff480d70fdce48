#include "headgate/policy/file/read_calendar.h"

#include <string>
#include <string_view>

#include "headgate/limit/calendar.h"
#include "headgate/policy/calendar_of.h"
#include "headgate/policy/file/keys.h"
#include "headgate/policy/file/read_quota.h"
#include "headgate/policy/quantity.h"

namespace headgate::policy {
namespace {

using yaml::Node;

std::optional<CalendarRate> read_calendar_rate(const Node& node, Faults& faults) {
  return read_value<CalendarRate>(node, "rate", "a rate like 5000/month", parse_calendar_rate,
                                  faults);
}

// Adds a fault for each key of a quota but `rate` and those that are `allowed`.
bool has_others(const MapReader& map, std::string_view allowed, Faults& faults) {
  bool found = false;
  for (const std::string_view key : quota_keys) {
    const Node* node = map.find(key);
    if (node == nullptr || key == "rate" || key == allowed) continue;
    faults.add(node->at, std::string(key) +
                             " has no meaning with time-zone; expected a rate per day, week or "
                             "month, like rate: 5000/month");
    found = true;
  }
  return found;
}

limit::Quota quota_of(std::uint64_t units, limit::CalendarUnit per) {
  return {units, limit::usual_length(per)};
}

}  // namespace

std::optional<limit::Quota> read_calendar_quota(const MapReader& map, limit::Terms& terms,
                                                Faults& faults) {
  const Node& zone = *map.find("time-zone");
  const auto name = read_text(zone, "time-zone", "a name like Europe/Berlin, or UTC", faults);
  const Node* rate_node = map.find("rate");
  if (has_others(map, "", faults)) return std::nullopt;
  if (rate_node == nullptr) {
    faults.add(zone.at, "time-zone without a rate; expected one like rate: 5000/month");
    return std::nullopt;
  }
  const auto rate = read_calendar_rate(*rate_node, faults);
  const auto calendar =
      calendar_of(rate ? rate->per : limit::CalendarUnit::day, name.value_or("UTC"));
  if (!calendar) {
    faults.add(zone.at, "time-zone " + in_quotes(*name) + ' ' + calendar.error());
    return std::nullopt;
  }
  if (!rate) return std::nullopt;
  terms.aligned = true;
  terms.calendar = *calendar;
  return quota_of(rate->units, rate->per);
}

std::optional<limit::Quota> read_calendar_override(const MapReader& map,
                                                   const limit::Calendar& calendar,
                                                   Faults& faults) {
  if (has_others(map, map.has("rate") ? "" : "quota", faults)) return std::nullopt;
  if (const Node* node = map.find("quota")) {
    const auto units = read_value<std::uint64_t>(*node, "quota", "an integer", parse_units, faults);
    if (!units) return std::nullopt;
    return quota_of(*units, calendar.unit());
  }
  const Node* node = map.find("rate");
  const auto rate = read_calendar_rate(*node, faults);
  if (!rate) return std::nullopt;
  if (rate->per != calendar.unit()) {
    faults.add(node->at, "rate " + in_quotes(node->text) +
                             " has another time than the policy's rate; expected the same, or "
                             "quota alone");
    return std::nullopt;
  }
  return quota_of(rate->units, rate->per);
}

}  // namespace headgate::policy
