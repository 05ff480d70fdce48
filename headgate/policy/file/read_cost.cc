#include "headgate/policy/file/read_cost.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "headgate/policy/file/keys.h"
#include "headgate/policy/file/lint.h"
#include "headgate/policy/quantity.h"
#include "headgate/policy/text.h"

namespace headgate::policy {
namespace {

using Source = CostRule::Source;
using yaml::Node;

constexpr std::string_view expected_cost =
    "an integer, request-bytes, response-bytes, {request-header: NAME}, {response-header: NAME} or "
    "{reserve: ..., settle: ...}";
constexpr std::string_view expected_reserve =
    "an integer, {request-header: NAME} or {estimate: 95%}";
constexpr std::string_view expected_settle =
    "response-bytes, {response-header: NAME} or {response-json: PATH}";

// The places of a response's JSON that a number can be at: enough for every interface known, and
// the reader's memory is bounded by it.
constexpr std::size_t path_names_max = 8;
constexpr std::size_t path_size_max = 128;

// Names without quotes, backslashes and control characters, with dots between them.
Parsed<std::string> parse_path(std::string_view text) {
  const auto fits = [](char c) { return c > ' ' && c <= '~' && c != '"' && c != '\\'; };
  const auto names = static_cast<std::size_t>(std::ranges::count(text, '.')) + 1;
  const bool has_empty = text.empty() || text.front() == '.' || text.back() == '.' ||
                         text.find("..") != std::string_view::npos;
  if (has_empty || names > path_names_max || text.size() > path_size_max ||
      !std::ranges::all_of(text, fits)) {
    return Failure<std::string>(
        "is not a path to a member; expected at most 8 names with dots between them, like "
        "usage.total_tokens");
  }
  return std::string(text);
}

// Of 0% and 100% no cost is the quantile.
Parsed<unsigned> parse_share(std::string_view text) {
  auto percent = parse_percent(text, 99);
  if (percent && *percent == 0) {
    return Failure<std::string>("covers no cost; expected 1% to 99%");
  }
  return percent;
}

// Returns whether exactly one of the keys is there; if not, adds a fault.
bool has_one(const Node& node, const MapReader& map, std::string_view what,
             std::span<const Key> keys, std::string_view expected, Faults& faults) {
  const auto given = std::ranges::count_if(keys, [&](const Key& key) { return map.has(key.name); });
  if (given == 1) return true;
  if (given == 0 && !node.children.empty()) return false;  // its keys have faults
  faults.add(node.at, std::string(what) + " is " +
                          (given == 0 ? "an empty map" : "two things at once") + "; expected " +
                          std::string(expected));
  return false;
}

void read_header(const Node& node, std::string_view key, Source source, CostRule& cost,
                 Faults& faults) {
  const auto name = read_text(node, key, "the name of a header", faults);
  if (!name) return;
  if (!is_header_name(*name)) {
    faults.add(node.at, std::string(key) + " " + in_quotes(*name) +
                            " is not a header name; expected one like x-cost, of up to 255 "
                            "characters");
    return;
  }
  if (source == Source::request_header) {
    if (const auto lint = lint_header(*name)) {
      faults.warn(node.at, std::string(key) + " " + in_quotes(*name) + ' ' + *lint);
    }
  }
  cost.source = source;
  cost.header = lowered(*name);
}

// Returns whether the node is a number of units; then reads it.
bool read_units(const Node& node, std::string_view key, std::string_view text, CostRule& cost,
                Faults& faults) {
  if (text.empty() || !(is_digit(text[0]) || text[0] == '-')) return false;
  const auto units = parse_units(text);
  if (units) {
    cost.units = *units;
  } else {
    faults.add(node.at, std::string(key) + " " + in_quotes(text) + " " + units.error());
  }
  return true;
}

// An integer, {request-header: NAME} or {estimate: 95%}.
void read_reserve(const Node& node, Policy& policy, CostRule& cost, Faults& faults) {
  if (node.kind != yaml::Kind::map) {
    const auto text = read_text(node, "reserve", expected_reserve, faults);
    if (text && !read_units(node, "reserve", *text, cost, faults)) {
      faults.add(node.at, "reserve " + in_quotes(*text) + " is unknown; expected " +
                              std::string(expected_reserve));
    }
    return;
  }
  const MapReader map(node, "reserve", reserve_keys, faults);
  if (!has_one(node, map, "reserve", reserve_keys, expected_reserve, faults)) return;
  if (const Node* header = map.find("request-header")) {
    return read_header(*header, "request-header", Source::request_header, cost, faults);
  }
  const auto percent =
      read_value<unsigned>(*map.find("estimate"), "estimate", "1% to 99%", parse_share, faults);
  if (!percent) return;
  cost.source = Source::estimate;
  policy.estimate_percent = *percent;
}

// response-bytes, {response-header: NAME} or {response-json: PATH}.
CostRule read_settle(const Node& node, Faults& faults) {
  CostRule settled;
  settled.source = Source::response_bytes;
  if (node.kind != yaml::Kind::map) {
    const auto source = read_choice<Source>(node, "settle", settle_words, faults);
    if (source) settled.source = *source;
    return settled;
  }
  const MapReader map(node, "settle", settle_keys, faults);
  if (!has_one(node, map, "settle", settle_keys, expected_settle, faults)) return settled;
  if (const Node* header = map.find("response-header")) {
    read_header(*header, "response-header", Source::response_header, settled, faults);
    return settled;
  }
  auto path = read_value<std::string>(*map.find("response-json"), "response-json",
                                      "a path like usage.total_tokens", parse_path, faults);
  if (!path) return settled;
  settled.source = Source::response_json;
  settled.path = *std::move(path);
  return settled;
}

// {request-header: NAME}, {response-header: NAME} or {reserve: ..., settle: ...}.
void read_map(const Node& node, Policy& policy, Rule& rule, Faults& faults) {
  const MapReader map(node, "cost", cost_keys, faults);
  const Node* const request = map.find("request-header");
  const Node* const response = map.find("response-header");
  const bool reserves = map.has("reserve") || map.has("settle");
  const int ways =
      (request != nullptr ? 1 : 0) + (response != nullptr ? 1 : 0) + (reserves ? 1 : 0);
  if (node.children.empty() || ways > 1) {
    const char* const is = node.children.empty() ? "an empty map"
                           : reserves            ? "a header and a reservation at once"
                                                 : "two headers at once";
    faults.add(node.at, std::string("cost is ") + is + "; expected " + std::string(expected_cost));
  } else if (request != nullptr) {
    read_header(*request, "request-header", Source::request_header, rule.cost, faults);
  } else if (response != nullptr) {
    read_header(*response, "response-header", Source::response_header, rule.cost, faults);
  } else if (reserves) {
    if (const Node* reserve = map.require("reserve", expected_reserve)) {
      read_reserve(*reserve, policy, rule.cost, faults);
    }
    const Node* settle = map.require("settle", expected_settle);
    rule.settled = settle != nullptr ? read_settle(*settle, faults) : CostRule{};
  }
}

}  // namespace

void read_cost(const MapReader& map, Policy& policy, Rule& rule, Faults& faults) {
  const Node* const node = map.find("cost");
  if (node == nullptr) return;
  if (node->kind == yaml::Kind::map) {
    read_map(*node, policy, rule, faults);
  } else if (const auto text = read_text(*node, "cost", expected_cost, faults);
             text && !read_units(*node, "cost", *text, rule.cost, faults)) {
    const auto source = read_choice<Source>(*node, "cost", cost_words, faults);
    if (source) rule.cost.source = *source;
  }
  policy.cost_time = rule.settled ? CostTime::reserved : rule.cost.time();
}

void set_reserve(Policy& policy, Rule& rule) noexcept {
  if (rule.cost.source == Source::estimate && !policy.grants.empty()) {
    // A hundredth of the quota: so many requests run while nothing is known of their costs.
    rule.cost.units = std::max<std::uint64_t>(policy.grants.front().quota.units / 100, 1);
  }
  policy.reserve = rule.cost.units;
}

}  // namespace headgate::policy
