#include "headgate/cli/gateway/upstream.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "headgate/base/ascii.h"
#include "headgate/base/whole_number.h"

namespace headgate::cli {
namespace {

constexpr std::string_view form =
    "expected http://HOST[:PORT][/PATH] or https://HOST[:PORT][/PATH]";

bool alphanumeric(char c) { return is_digit(c) || is_letter(c); }

bool host_character(char c) { return alphanumeric(c) || c == '.' || c == '-' || c == '_'; }

// The characters of RFC 3986 for a path, without ' ; and $, which nginx would interpret.
bool path_character(char c) {
  return alphanumeric(c) || std::string_view("-._~!&()*+,=:@/%").find(c) != std::string_view::npos;
}

bool starts_with_scheme(std::string_view url, std::string_view scheme) {
  return url.size() >= scheme.size() &&
         std::equal(scheme.begin(), scheme.end(), url.begin(),
                    [](char a, char b) { return a == (b >= 'A' && b <= 'Z' ? b + 32 : b); });
}

bool ipv6(std::string_view text) {
  in6_addr address;
  return inet_pton(AF_INET6, std::string(text).c_str(), &address) == 1;
}

// Removes "http://" or "https://" from the front of `rest` and sets scheme and default port. False
// if neither is there.
bool take_scheme(std::string_view& rest, Upstream& upstream) {
  if (starts_with_scheme(rest, "http://")) {
    rest.remove_prefix(7);
    return true;
  }
  if (!starts_with_scheme(rest, "https://")) return false;
  rest.remove_prefix(8);
  upstream.tls = true;
  upstream.port = 443;
  return true;
}

// Reads HOST[:PORT]. Returns what is wrong, or "".
std::string_view read_authority(std::string_view authority, Upstream& upstream) {
  if (authority.find('@') != std::string_view::npos) {
    return "an upstream's URL can't carry a user name or password";
  }
  std::string_view port;
  if (authority.starts_with('[')) {
    const std::size_t end = authority.find(']');
    if (end == std::string_view::npos || !ipv6(authority.substr(1, end - 1))) {
      return "expected an IPv6 address between the brackets";
    }
    upstream.host = authority.substr(0, end + 1);
    port = authority.substr(end + 1);
  } else {
    const std::size_t colon = authority.find(':');
    upstream.host = authority.substr(0, colon);
    if (colon != std::string_view::npos) port = authority.substr(colon);
    if (upstream.host.empty()) return "the host is missing";
    if (!std::all_of(upstream.host.begin(), upstream.host.end(), host_character)) {
      return "a host has letters, digits, dots and hyphens, or is an IPv6 address in brackets";
    }
    if (starts_with_scheme(upstream.host, "unix") && upstream.host.size() == 4) {
      return "nginx takes the host \"unix\" for a Unix socket; give its address instead";
    }
  }
  if (port.empty()) return "";
  upstream.port = whole_number<std::uint16_t>(port.substr(1)).value_or(0);
  if (port[0] != ':' || upstream.port == 0) {
    return "expected a port from 1 to 65535 behind the host";
  }
  return "";
}

}  // namespace

std::string Upstream::authority() const {
  const bool usual = port == (tls ? 443 : 80);
  return host + (usual ? "" : ':' + std::to_string(port));
}

std::string Upstream::bare_host() const {
  return host.starts_with('[') ? host.substr(1, host.size() - 2) : host;
}

std::string Upstream::url() const { return (tls ? "https://" : "http://") + authority() + path; }

Result<Upstreams, std::string> parse_upstreams(const std::vector<std::string>& urls) {
  Upstreams upstreams;
  for (const std::string& url : urls) {
    auto upstream = parse_upstream(url);
    if (!upstream) return Failure<std::string>(upstream.error());
    const Upstream& first = upstreams.empty() ? *upstream : upstreams.front();
    const char* differs = upstream->tls != first.tls                      ? "scheme"
                          : upstream->path != first.path                  ? "path"
                          : upstream->tls && upstream->host != first.host ? "host"
                                                                          : nullptr;
    if (differs != nullptr) {
      return Failure<std::string>('"' + url + "\": expected the " + differs +
                                  " of the first upstream, " + first.url() +
                                  (upstream->tls ? ", as their certificates have one name" : ""));
    }
    upstreams.push_back(std::move(*upstream));
  }
  return upstreams;
}

std::size_t count_addresses(const Upstreams& upstreams) {
  addrinfo hints{};  // as nginx looks for them
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG;
  std::size_t count = 0;
  for (const Upstream& upstream : upstreams) {
    addrinfo* found = nullptr;
    const int error = getaddrinfo(upstream.bare_host().c_str(), nullptr, &hints, &found);
    if (error != 0) {
      ++count;
      continue;
    }
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, freeaddrinfo);
    for (const addrinfo* one = found; one != nullptr; one = one->ai_next) ++count;
  }
  return count;
}

Result<Upstream, std::string> parse_upstream(std::string_view url) {
  const auto refuse = [&](std::string_view what) {
    return Failure<std::string>('"' + std::string(url) + "\": " + std::string(what));
  };
  Upstream upstream;
  std::string_view rest = url;
  if (!take_scheme(rest, upstream)) return refuse(form);
  if (rest.find_first_of("?#") != std::string_view::npos) {
    return refuse("an upstream has neither query nor fragment");
  }
  const std::size_t slash = rest.find('/');
  const std::string_view wrong = read_authority(rest.substr(0, slash), upstream);
  if (!wrong.empty()) return refuse(wrong);
  std::string_view path = slash == std::string_view::npos ? "" : rest.substr(slash);
  if (!std::all_of(path.begin(), path.end(), path_character)) {
    return refuse("the path holds characters that must be percent-encoded");
  }
  while (path.ends_with('/')) path.remove_suffix(1);
  upstream.path = path;
  return upstream;
}

}  // namespace headgate::cli
