#include "headgate/cli/partition/reader.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "headgate/cli/partition/server.h"
#include "headgate/cli/printable.h"

namespace headgate::cli {

using nlohmann::json;

Result<PartitionReader::Answer, std::string> PartitionReader::state(const std::string& method,
                                                                    const std::string& policy,
                                                                    const std::string& key) {
  const auto body =
      ask(*server_, method, "/v1/state/" + path_segment(policy) + '/' + path_segment(key));
  if (!body) return Failure<std::string>(body.error());
  auto state = PartitionState::parse(*body);
  if (!state) return Failure<std::string>(server_->fault(state.error()));
  std::string sent(*body);
  while (sent.ends_with('\n')) sent.pop_back();
  if (state->key.empty()) state->key = empty_key_.words(state->policy);
  return Answer{*std::move(state), std::move(sent)};
}

Result<std::vector<std::string>, std::string> PartitionReader::with_key_of(
    const std::vector<std::string>& policies) {
  const auto answer = ask(*server_, "GET", "/v1/policies");
  if (!answer) return Failure<std::string>(answer.error());
  try {
    const json body = json::parse(*answer);
    const json& in_force = body.at("policies");
    const auto named = [&](const std::string& name) {
      return std::find_if(in_force.begin(), in_force.end(), [&](const json& one) {
        return one.at("name").get<std::string>() == name;
      });
    };
    const auto first = named(policies.front());
    for (const std::string& policy : policies) {
      const auto found = named(policy);
      // The server says what is wrong with a name that it does not know.
      if (found == in_force.end()) return std::vector{policy};
      if (found->at("key") == first->at("key")) continue;
      return Failure<std::string>(server_->fault(
          "policies " + printable(policies.front()) + " and " + printable(policy) +
          " count by different keys, " + printable(first->at("key").get<std::string>()) + " and " +
          printable(found->at("key").get<std::string>()) +
          "; expected headgate why POLICY KEY for each of them"));
    }
    std::vector<std::string> names;
    for (const json& one : in_force) {
      const auto name = one.at("name").get<std::string>();
      const bool is_named = std::find(policies.begin(), policies.end(), name) != policies.end();
      // The server answers for a policy with the numbers in force, which may be its candidate's.
      const bool counts = one.at("mode").get<std::string>() != "off" &&
                          !one.value("candidate_of", json()).is_string();
      if (!counts && !is_named) continue;
      if (one.at("key") == first->at("key")) names.push_back(name);
    }
    return names;
  } catch (const json::exception&) {
    return Failure<std::string>(server_->fault("not what headgate answers"));
  }
}

}  // namespace headgate::cli
