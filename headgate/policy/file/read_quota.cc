#include "headgate/policy/file/read_quota.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "headgate/policy/file/keys.h"
#include "headgate/policy/quantity.h"

namespace headgate::policy {
namespace {

using yaml::Node;

constexpr std::string_view units_words = "an integer, 0 to 999999999999999";

// Returns an integer of at least `min`, or std::nullopt if the key is absent or its value a fault.
std::optional<std::uint64_t> read_count(const MapReader& map, std::string_view key,
                                        std::uint64_t min, Faults& faults) {
  const Node* node = map.find(key);
  if (node == nullptr) return std::nullopt;
  const auto parse = [min](std::string_view text) {
    return parse_integer(text, min, limit::Quota::units_max);
  };
  return read_value<std::uint64_t>(*node, key, "an integer", parse, faults);
}

}  // namespace

std::optional<Nanos> read_duration(const MapReader& map, std::string_view key, Faults& faults,
                                   Nanos min) {
  const Node* node = map.find(key);
  if (node == nullptr) return std::nullopt;
  const auto parse = [min](std::string_view text) { return parse_duration(text, min); };
  return read_value<Nanos>(*node, key, duration_words, parse, faults);
}

bool has_quota(const MapReader& map) {
  return std::any_of(std::begin(quota_keys), std::end(quota_keys),
                     [&](std::string_view key) { return map.has(key); });
}

Position quota_position(const MapReader& map) {
  for (const std::string_view key : quota_keys) {
    if (const Node* node = map.find(key)) return node->at;
  }
  return map.at();
}

namespace {

// 'burst', 'count' and 'period'.
std::optional<limit::Quota> read_bucket(const MapReader& map, Faults& faults) {
  const Node* const burst_node = map.require("burst", "it together with 'count' and 'period'");
  static_cast<void>(map.require("count", "it together with 'burst' and 'period'"));
  static_cast<void>(map.require("period", "it together with 'burst' and 'count'"));
  const auto burst = read_count(map, "burst", 1, faults);
  const auto count = read_count(map, "count", 1, faults);
  const auto period = read_duration(map, "period", faults);
  if (!burst || !count || !period) return std::nullopt;
  const auto quota = bucket_quota(*burst, *count, *period);
  if (quota) return *quota;
  faults.add(burst_node->at, "burst " + std::to_string(*burst) + " " + quota.error());
  return std::nullopt;
}

// 'quota' and 'window', of which an override may leave out one.
std::optional<limit::Quota> read_plain(const MapReader& map, const limit::Quota* base,
                                       Faults& faults) {
  if (base == nullptr) {
    static_cast<void>(map.require("quota", units_words));
    static_cast<void>(map.require("window", duration_words));
  }
  auto units = read_count(map, "quota", 0, faults);
  auto window = read_duration(map, "window", faults);
  if (base != nullptr && !map.has("quota")) units = base->units;
  if (base != nullptr && !map.has("window")) window = base->window;
  if (!units || !window) return std::nullopt;
  return limit::Quota{*units, *window};
}

}  // namespace

std::optional<limit::Quota> read_quota(const MapReader& map, const limit::Quota* base,
                                       Faults& faults) {
  const bool plain = map.has("quota") || map.has("window");
  const bool rate = map.has("rate");
  const bool bucket = map.has("burst") || map.has("count") || map.has("period");
  if (plain + rate + bucket > 1) {
    faults.add(map.at(), "quota and window are spelled in several ways; expected " +
                             std::string(quota_spellings));
    return std::nullopt;
  }
  if (rate) {
    const auto text = "UNITS/TIME, like 100/minute";
    return read_value<limit::Quota>(*map.find("rate"), "rate", text, parse_rate, faults);
  }
  if (bucket) return read_bucket(map, faults);
  if (base == nullptr && !plain) {
    if (map.valid()) {
      faults.add(map.at(), "a policy has no quota; expected " + std::string(quota_spellings));
    }
    return std::nullopt;
  }
  return read_plain(map, base, faults);
}

std::optional<limit::Quota> read_slots(const MapReader& map, Faults& faults) {
  bool alone = true;
  for (const std::string_view key : quota_keys) {
    const Node* node = map.find(key);
    if (node == nullptr || key == "quota") continue;
    faults.add(node->at, std::string(key) +
                             " has no meaning with algorithm 'concurrency', which counts what is "
                             "in flight; expected 'quota' alone");
    alone = false;
  }
  if (!alone || map.require("quota", units_words) == nullptr) {
    return std::nullopt;
  }
  const auto units = read_count(map, "quota", 0, faults);
  if (!units) return std::nullopt;
  return limit::Quota{*units, 0};
}

}  // namespace headgate::policy
