#include "headgate/cli/top/policy_list.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "headgate/cli/printable.h"

namespace headgate::cli {

PolicyList PolicyList::parse(std::string_view text) {
  using nlohmann::json;
  PolicyList list;
  try {
    // Not `.at()` of a temporary: the loop would outlive it.
    const json body = json::parse(text);
    for (const json& policy : body.at("policies")) {
      std::string name = printable(policy.at("name").get<std::string>());
      if (policy.at("key").get<std::string>() == "[]") list.global.insert(name);
      list.names.insert(std::move(name));
    }
  } catch (const json::exception&) {
    return {};
  }
  return list;
}

}  // namespace headgate::cli
