// The server behind a gateway.
#pragma once

#include <cstddef>
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
  // The host without the brackets of an IPv6 address.
  [[nodiscard]] std::string bare_host() const;
  // The URL in canonical form.
  [[nodiscard]] std::string url() const;
};

// Several servers of which any may answer a request; at least one. They have scheme and path in
// common and, with TLS, the host, against which nginx holds the certificates of all.
using Upstreams = std::vector<Upstream>;

// Parses the URLs of a gateway's upstreams. The error says which URL is wrong, and what was
// expected.
[[nodiscard]] Result<Upstreams, std::string> parse_upstreams(const std::vector<std::string>& urls);

// Returns how many addresses the hosts have now, all together. One whose name is not found counts
// as one address. Blocks while names are resolved.
[[nodiscard]] std::size_t count_addresses(const Upstreams& upstreams);

// Parses http://HOST[:PORT][/PATH] or https://... The error says what is wrong and what was
// expected.
[[nodiscard]] Result<Upstream, std::string> parse_upstream(std::string_view url);

}  // namespace headgate::cli
