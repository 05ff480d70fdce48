// What a connection of the HTTP door knows about its client.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "headgate/policy/address/address.h"

namespace headgate::server {

struct HttpCaller {
  int fd;                                 // the connection's socket
  bool is_tcp = false;                    // and not a Unix socket
  std::optional<policy::Address> peer{};  // of a TCP connection that was not reset at once
  unsigned local_port = 0;                // of this end of a TCP connection
  std::uint64_t shown_token = 0;          // as Secrets::knows() takes it
  unsigned wrong_tokens = 0;              // requests that had a wrong one

  // When the answers may be sent: set by the answer to a wrong token, or to a request that has to
  // wait. Or that the connection is to be closed without them.
  std::optional<std::chrono::steady_clock::time_point> answers_at{};
  bool is_cut_off = false;
};

}  // namespace headgate::server
