// The server that a gateway stands in front of.
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

  // HOST[:PORT], the port only if it is not the scheme's own.
  [[nodiscard]] std::string authority() const;
  // As given, in canonical form.
  [[nodiscard]] std::string url() const;
};

// http://HOST[:PORT][/PATH] or https://... The error says what is wrong and what was expected.
[[nodiscard]] Result<Upstream, std::string> parse_upstream(std::string_view url);

}  // namespace headgate::cli
