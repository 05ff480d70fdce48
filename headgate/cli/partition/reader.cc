#include "headgate/cli/partition/reader.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "headgate/cli/printable.h"

namespace headgate::cli {

using nlohmann::json;

// What the server says about a request that it refuses.
std::string PartitionReader::fault_of(const ServerClient::Answer& answer) const {
  std::string why;
  const json problem = json::parse(answer.body, nullptr, false);
  const auto detail = problem.is_object() ? problem.find("detail") : problem.end();
  if (problem.is_object() && detail != problem.end() && detail->is_string()) {
    why = printable(detail->get<std::string>());
  } else {
    why = "answered with status " + std::to_string(answer.status) +
          "; expected the --http address of a headgate serve";
  }
  if (answer.status == 401) {
    why = "the server wants a token; expected --admin-token-file FILE with its admin token";
  }
  return server_->fault(why);
}

Result<PartitionReader::Answer, std::string> PartitionReader::ask(const std::string& method,
                                                                  const std::string& policy,
                                                                  const std::string& key) {
  const auto answer =
      server_->request(method, "/v1/state/" + path_segment(policy) + '/' + path_segment(key));
  if (!answer) return Failure<std::string>(answer.error());
  if (answer->status != 200) return Failure<std::string>(fault_of(*answer));
  auto state = PartitionState::parse(answer->body);
  if (!state) return Failure<std::string>(server_->fault(state.error()));
  std::string sent(answer->body);
  while (sent.ends_with('\n')) sent.pop_back();
  return Answer{*std::move(state), std::move(sent)};
}

Result<std::vector<std::string>, std::string> PartitionReader::with_key_of(
    const std::string& policy) {
  const auto answer = server_->request("GET", "/v1/policies");
  if (!answer) return Failure<std::string>(answer.error());
  if (answer->status != 200) return Failure<std::string>(fault_of(*answer));
  try {
    const json body = json::parse(answer->body);
    const json& policies = body.at("policies");
    const auto named = std::find_if(policies.begin(), policies.end(), [&](const json& one) {
      return one.at("name").get<std::string>() == policy;
    });
    // The server says what is wrong with a name that it does not know.
    if (named == policies.end()) return std::vector{policy};
    std::vector<std::string> names;
    for (const json& one : policies) {
      if (one.at("mode").get<std::string>() == "off" && &one != &*named) continue;
      if (one.at("key") == named->at("key")) names.push_back(one.at("name").get<std::string>());
    }
    return names;
  } catch (const json::exception&) {
    return Failure<std::string>(server_->fault("not what headgate answers"));
  }
}

}  // namespace headgate::cli
