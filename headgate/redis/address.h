// Where a Redis server is.
#pragma once

#include <string>
#include <string_view>

#include "headgate/base/result.h"

namespace headgate::redis {

struct Address {
  std::string host;  // a name or an IP address; empty: a Unix socket
  std::string port;  // 1..65535; of a Unix socket, its path

  // Reads HOST:PORT, [ADDR]:PORT or unix:PATH. Resolves no name. The error is a sentence that
  // quotes `text`.
  [[nodiscard]] static Result<Address, std::string> parse(std::string_view text);

  [[nodiscard]] bool is_unix() const noexcept { return host.empty(); }
  // What parse() reads as this address.
  [[nodiscard]] std::string text() const;

  friend bool operator==(const Address&, const Address&) = default;
};

}  // namespace headgate::redis
