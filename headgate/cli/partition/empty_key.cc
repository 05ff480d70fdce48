#include "headgate/cli/partition/empty_key.h"

#include "headgate/cli/partition/server.h"

namespace headgate::cli {

std::string EmptyKey::words(const std::string& policy) {
  if (!policies_) {
    const auto body = ask(*server_, "GET", "/v1/policies");
    policies_ = body ? PolicyList::parse(*body) : PolicyList();
  }
  const bool lacks_key = policies_->names.contains(policy) && !policies_->global.contains(policy);
  return lacks_key ? "(no key)" : "(everyone)";
}

}  // namespace headgate::cli
