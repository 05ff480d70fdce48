// The server behind a gateway.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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

// Several servers of which any may answer a request; at least one. They have scheme and path in
// common and, with TLS, the host, against which nginx holds the certificates of all.
using Upstreams = std::vector<Upstream>;

// Parses the URLs of a gateway's upstreams. The error says which URL is wrong, and what was
// expected.
[[nodiscard]] Result<Upstreams, std::string> parse_upstreams(const std::vector<std::string>& urls);

// Parses http://HOST[:PORT][/PATH] or https://... The error says what is wrong and what was
// expected.
[[nodiscard]] Result<Upstream, std::string> parse_upstream(std::string_view url);

}  // namespace headgate::cli
