#include "headgate/base/server_address.h"

#include <sys/un.h>

#include <cstdint>

#include "headgate/base/whole_number.h"

namespace headgate {
namespace {

constexpr std::string_view unix_prefix = "unix:";
constexpr std::size_t path_max = sizeof(sockaddr_un::sun_path) - 1;

bool is_port(std::string_view text) noexcept {
  return whole_number<std::uint16_t>(text).value_or(0) > 0;
}

}  // namespace

Result<ServerAddress, std::string> ServerAddress::parse(std::string_view text) {
  const auto fault = [&](std::string_view expected) {
    return Failure<std::string>(std::string(expected));
  };
  if (text.starts_with(unix_prefix)) {
    const std::string_view path = text.substr(unix_prefix.size());
    if (path.empty() || path.size() > path_max) {
      return fault("unix:PATH with at most " + std::to_string(path_max) + " bytes of path");
    }
    if (path.find('\0') != std::string_view::npos) return fault("unix:PATH without a byte 0");
    return ServerAddress{"", std::string(path)};
  }
  constexpr std::string_view forms = "HOST:PORT, [ADDRESS]:PORT or unix:PATH";
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return fault(forms);
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  if (!is_port(port)) return fault("a port from 1 to 65535 behind the last colon");
  if (host.starts_with('[')) {
    if (!host.ends_with(']') || host.size() < 3) return fault(forms);
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return fault("an IPv6 address in brackets, such as [::1]:6379");
  }
  return ServerAddress{std::string(host), std::string(port)};
}

std::string ServerAddress::text() const {
  if (is_unix()) return std::string(unix_prefix) + port;
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? '[' + host + ']' : host) + ':' + port;
}

}  // namespace headgate
