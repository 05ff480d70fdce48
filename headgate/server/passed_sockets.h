// Listening sockets that systemd has opened for this process (socket activation).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headgate/base/result.h"
#include "headgate/net/endpoint.h"

namespace headgate::server {

// They stay open as long as the process runs: connections that arrive while a service starts again
// wait in them. Not thread-safe.
class PassedSockets {
 public:
  // Takes the sockets that the environment names, so that programs that this one starts do not.
  // The error is a sentence.
  [[nodiscard]] static Result<PassedSockets, std::string> take();

  // Returns the non-blocking socket that listens at this endpoint. The caller does not close it.
  [[nodiscard]] std::optional<int> find(const net::Endpoint& endpoint);

  // Returns why a service should not start if find() has not returned all of them: clients could
  // connect to the others, and would get no answer. To be called before other sockets are opened:
  // at an address that one of these covers, that would fail for a reason that is harder to read.
  [[nodiscard]] Result<void, std::string> expect_all_used() const;

 private:
  struct Socket {
    int fd;
    std::string address;
    bool used = false;
  };
  std::vector<Socket> sockets_;
};

}  // namespace headgate::server
