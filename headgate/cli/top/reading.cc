#include "headgate/cli/top/reading.h"

#include <nlohmann/json.hpp>

#include "headgate/cli/printable.h"

namespace headgate::cli {
namespace {

using nlohmann::json;

std::vector<TopReading::Row> rows(const json& list, const char* also) {
  std::vector<TopReading::Row> all;
  for (const json& row : list) {
    all.push_back({printable(row.at("policy").get<std::string>()),
                   printable(row.at("key").get<std::string>()), row.at("per_second").get<double>(),
                   row.at("at_most_per_second").get<double>(), row.at(also).get<double>()});
  }
  return all;
}

std::optional<TopReading::Redis> redis_of(const json& body) {
  const auto found = body.find("redis");
  if (found == body.end()) return std::nullopt;
  return TopReading::Redis{found->at("up").get<bool>(),
                           found->at("decisions_without_it_per_second").get<double>()};
}

// Older servers have another name for requests.
double requests_of(const json& body) {
  const auto found = body.find("requests_per_second");
  return (found != body.end() ? *found : body.at("decisions_per_second")).get<double>();
}

}  // namespace

Result<TopReading, std::string> TopReading::parse(std::string_view text) {
  try {
    const json body = json::parse(text);
    return TopReading{body.at("keys").get<std::string>() == "plain",
                      requests_of(body),
                      body.at("denied_per_second").get<double>(),
                      body.at("shadow_denied_per_second").get<double>(),
                      redis_of(body),
                      rows(body.at("busiest"), "units_per_second"),
                      rows(body.at("most_denied"), "shadow_per_second")};
  } catch (const json::exception&) {
    // What the library says is about its own types.
    return Failure<std::string>("not what headgate answers");
  }
}

}  // namespace headgate::cli
