// How an empty key of a running server's policy is shown.
#pragma once

#include <optional>
#include <string>

#include "headgate/cli/http/server_client.h"
#include "headgate/cli/top/policy_list.h"

namespace headgate::cli {

// A key is empty if a policy has one partition for all, or if requests do not have what its key is
// made from. Only the server's policies tell which.
class EmptyKey {
 public:
  // `server` outlives this.
  explicit EmptyKey(ServerClient& server) noexcept : server_(&server) {}

  // Returns "(no key)" or, also if the policy is not known, "(everyone)". The first call sends a
  // request. `policy`: printable ASCII.
  [[nodiscard]] std::string words(const std::string& policy);

 private:
  ServerClient* server_;
  std::optional<PolicyList> policies_;
};

}  // namespace headgate::cli
