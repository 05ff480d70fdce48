// The server behind a gateway.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "headgate/base/result.h"

namespace headgate::cli {

struct Upstream {
  bool tls = false;
  std::string host;  // name or IPv4 address, or IPv6 address in brackets
  std::uint16_t port = 80;
  std::string path;  // prefix of every request's path: empty, or "/..." without a final slash

  // HOST[:PORT]; without the port if it is the scheme's default.
  [[nodiscard]] std::string authority() const;
  // The URL in canonical form.
  [[nodiscard]] std::string url() const;
};

// Parses http://HOST[:PORT][/PATH] or https://... The error says what is wrong and what was
// expected.
[[nodiscard]] Result<Upstream, std::string> parse_upstream(std::string_view url);

}  // namespace headgate::cli
