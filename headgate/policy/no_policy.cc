#include "headgate/policy/no_policy.h"

#include <vector>

#include "headgate/policy/file/spelling.h"

namespace headgate::policy {

std::string no_policy(const PolicySet& policies, std::string_view name) {
  std::vector<std::string_view> known;
  for (const Policy& policy : policies.policies()) known.push_back(policy.name);
  std::string what = "there is no policy " + in_quotes(name);
  if (const auto meant = nearest(name, known)) {
    what += "; did you mean " + in_quotes(*meant) + '?';
  }
  return what;
}

}  // namespace headgate::policy
