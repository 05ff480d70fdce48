#include "headgate/policy/file/read_cost.h"

#include <string>
#include <string_view>

#include "headgate/policy/file/keys.h"
#include "headgate/policy/quantity.h"
#include "headgate/policy/text.h"

namespace headgate::policy {
namespace {

using Source = CostRule::Source;

constexpr std::string_view expected =
    "an integer, request-bytes, response-bytes, {request-header: NAME} or {response-header: NAME}";

// {request-header: NAME} or {response-header: NAME}.
void read_header(const yaml::Node& node, CostRule& cost, Faults& faults) {
  const MapReader map(node, "cost", cost_keys, faults);
  const yaml::Node* const request = map.find("request-header");
  const yaml::Node* const response = map.find("response-header");
  if (node.children.empty() || (request != nullptr && response != nullptr)) {
    faults.add(node.at, std::string("cost is ") +
                            (request == nullptr ? "an empty map" : "two headers at once") +
                            "; expected " + std::string(expected));
    return;
  }
  const yaml::Node* const header = request != nullptr ? request : response;
  if (header == nullptr) return;
  const std::string key = request != nullptr ? "request-header" : "response-header";
  const auto name = read_text(*header, key, "the name of a header", faults);
  if (!name) return;
  if (!is_token(*name)) {
    faults.add(header->at,
               key + " " + in_quotes(*name) + " is not a header name; expected one like x-cost");
    return;
  }
  cost.source = request != nullptr ? Source::request_header : Source::response_header;
  cost.header = lowered(*name);
}

}  // namespace

CostRule read_cost(const MapReader& policy, Faults& faults) {
  CostRule cost;
  const yaml::Node* node = policy.find("cost");
  if (node == nullptr) return cost;
  if (node->kind == yaml::Kind::map) {
    read_header(*node, cost, faults);
    return cost;
  }
  const auto text = read_text(*node, "cost", expected, faults);
  if (!text) return cost;
  if (!text->empty() && (is_digit((*text)[0]) || (*text)[0] == '-')) {
    const auto units = parse_units(*text);
    if (units) {
      cost.units = *units;
    } else {
      faults.add(node->at, "cost " + in_quotes(*text) + " " + units.error());
    }
    return cost;
  }
  const auto source = read_choice<Source>(*node, "cost", cost_words, faults);
  if (source) cost.source = *source;
  return cost;
}

}  // namespace headgate::policy
