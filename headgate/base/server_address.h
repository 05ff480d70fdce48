// Where a server is that this program connects to.
#pragma once

#include <string>
#include <string_view>

#include "headgate/base/result.h"

namespace headgate {

struct ServerAddress {
  std::string host;  // a name or an IP address; empty: a Unix socket
  std::string port;  // 1..65535; of a Unix socket, its path

  // Reads HOST:PORT, [ADDR]:PORT or unix:PATH. Resolves no name. The error is what was
  // expected, such as "unix:PATH with at most 107 bytes of path".
  [[nodiscard]] static Result<ServerAddress, std::string> parse(std::string_view text);

  [[nodiscard]] bool is_unix() const noexcept { return host.empty(); }
  // What parse() reads as this address.
  [[nodiscard]] std::string text() const;

  friend bool operator==(const ServerAddress&, const ServerAddress&) = default;
};

}  // namespace headgate
