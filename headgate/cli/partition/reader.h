// Reads and changes partitions of a running server, through its /v1/state.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "headgate/base/result.h"
#include "headgate/cli/http/server_client.h"
#include "headgate/cli/partition/state.h"

namespace headgate::cli {

// Not thread-safe. Errors are sentences for people.
class PartitionReader {
 public:
  PartitionReader(const std::string& url, const std::string& admin_token)
      : server_(std::make_unique<ServerClient>(url, admin_token)) {}

  struct Answer {
    PartitionState state;
    std::string json;  // as the server has sent it, without a line's end
  };
  [[nodiscard]] Result<Answer, std::string> peek(const std::string& policy,
                                                 const std::string& key) {
    return ask("GET", policy, key);
  }
  // Gives the partition a full quota; returns its state after that.
  [[nodiscard]] Result<Answer, std::string> reset(const std::string& policy,
                                                  const std::string& key) {
    return ask("DELETE", policy, key);
  }

  // Returns the names of the policies in force, in their order, that have the same key as this one,
  // which is among them.
  [[nodiscard]] Result<std::vector<std::string>, std::string> with_key_of(
      const std::string& policy);

 private:
  [[nodiscard]] Result<Answer, std::string> ask(const std::string& method,
                                                const std::string& policy, const std::string& key);
  [[nodiscard]] std::string fault_of(const ServerClient::Answer& answer) const;

  std::unique_ptr<ServerClient> server_;
};

}  // namespace headgate::cli
