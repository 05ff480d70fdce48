// Reads and changes partitions of a running server, through its /v1/state.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "headgate/base/result.h"
#include "headgate/cli/http/server_client.h"
#include "headgate/cli/partition/empty_key.h"
#include "headgate/cli/partition/state.h"

namespace headgate::cli {

// Not thread-safe. Errors are sentences for people.
class PartitionReader {
 public:
  explicit PartitionReader(std::unique_ptr<ServerClient> server)
      : server_(std::move(server)), empty_key_(*server_) {}

  struct Answer {
    PartitionState state;
    std::string json;  // as the server has sent it, without a line's end
  };
  [[nodiscard]] Result<Answer, std::string> peek(const std::string& policy,
                                                 const std::string& key) {
    return state("GET", policy, key);
  }
  // Gives the partition a full quota; returns its state after that.
  [[nodiscard]] Result<Answer, std::string> reset(const std::string& policy,
                                                  const std::string& key) {
    return state("DELETE", policy, key);
  }

  // Returns the names of the policies in force, in their order, that have the same key as these,
  // which are among them. Fails if these have different keys.
  [[nodiscard]] Result<std::vector<std::string>, std::string> with_key_of(
      const std::vector<std::string>& policies);

 private:
  [[nodiscard]] Result<Answer, std::string> state(const std::string& method,
                                                  const std::string& policy,
                                                  const std::string& key);

  std::unique_ptr<ServerClient> server_;
  EmptyKey empty_key_;
};

}  // namespace headgate::cli
