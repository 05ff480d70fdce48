#include "headgate/server/http/no_policy.h"

#include <vector>

#include "headgate/policy/file/spelling.h"

namespace headgate::server {

std::string no_policy(const policy::PolicySet& policies, std::string_view name) {
  std::vector<std::string_view> known;
  for (const policy::Policy& policy : policies.policies()) known.push_back(policy.name);
  std::string what = "there is no policy " + policy::in_quotes(name);
  if (const auto meant = policy::nearest(name, known)) {
    what += "; did you mean " + policy::in_quotes(*meant) + '?';
  }
  return what;
}

}  // namespace headgate::server
