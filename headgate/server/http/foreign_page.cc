#include "headgate/server/http/foreign_page.h"

#include <algorithm>
#include <array>
#include <string>

#include "headgate/base/ascii.h"

namespace headgate::server {
namespace {

constexpr std::string_view foreign_host =
    "expected a Host of this machine, such as 127.0.0.1 or localhost, since this server has no "
    "--token-file";
constexpr std::string_view foreign_origin =
    "a page of another site made this request, and this server has no --token-file";

// The fields of a proxy's query. A page cannot send them to another origin, because the browser
// would first ask for permission with an OPTIONS request.
constexpr std::array<std::string_view, 10> fields_of_queries = {
    "x-forwarded-uri", "x-original-uri",     "x-original-url",    "x-forwarded-for",
    "x-real-ip",       "x-forwarded-method", "x-original-method", "x-forwarded-host",
    "x-original-host", "x-forwarded-proto"};

// Names of loopback addresses in the /etc/hosts of Debian and others. Browsers send no
// Sec-Fetch-Site to them, as they do to localhost.
constexpr std::array<std::string_view, 4> names_without_site = {"ip6-localhost", "ip6-loopback",
                                                                "localhost4", "localhost6"};

struct Authority {
  std::string_view host;
  std::string_view port;
};

Authority split(std::string_view text) noexcept {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || text.ends_with(']')) return {text, {}};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

// Names with a dot are those that the owner of a domain can point anywhere. Other names are
// resolved by this machine: localhost, and what /etc/hosts or a container's network has.
bool is_own(std::string_view host) noexcept {
  if (host.ends_with('.')) host.remove_suffix(1);
  if (host.starts_with('[')) return host == "[::1]";
  if (host.find('.') == std::string_view::npos) return true;
  constexpr std::string_view local = ".localhost";
  if (host.size() > local.size() &&
      equal_ignoring_case(host.substr(host.size() - local.size()), local)) {
    return true;
  }
  constexpr std::string_view loopback = "127.";
  return host.starts_with(loopback) && host.find_first_not_of("0123456789.") == host.npos;
}

bool is_get(const HttpRequest& request) noexcept {
  return request.method() == "GET" || request.is_head();
}

// Whether a page of any site can make a browser send the request although the browser does not say
// so, or says that a person did it: a link, or what is fetched before it is followed. The page does
// not get the answer, so this matters only if the request spends.
bool may_be_of_page(const HttpRequest& request, std::string_view host) noexcept {
  if (host.ends_with('.')) host.remove_suffix(1);
  if (std::ranges::any_of(names_without_site,
                          [&](auto name) { return equal_ignoring_case(host, name); })) {
    return true;
  }
  const auto site = request.first("sec-fetch-site");
  return (site && *site != "same-origin" && *site != "none") ||
         request.first("sec-purpose").has_value();
}

// Whether a browser says that a page of another origin made the request. A link that a person
// follows is no such request: the other page does not get the answer.
bool is_foreign(const HttpRequest& request, std::string_view host) noexcept {
  if (const auto site = request.first("sec-fetch-site")) {
    const bool follows_link = is_get(request) && request.first("sec-fetch-mode") == "navigate" &&
                              request.first("sec-fetch-dest") == "document";
    if (*site != "same-origin" && *site != "none" && !follows_link) return true;
  }
  if (const auto origin = request.first("origin")) {
    const std::size_t scheme = origin->find("://");
    return scheme == std::string_view::npos ||
           !equal_ignoring_case(origin->substr(scheme + 3), host);
  }
  return false;
}

}  // namespace

std::optional<std::string_view> fault_of_foreign_page(const HttpRequest& request) {
  const std::string_view host = request.first("host").value_or("");
  if (!is_own(split(host).host)) return foreign_host;
  return is_foreign(request, host) ? std::optional(foreign_origin) : std::nullopt;
}

std::optional<std::string_view> fault_of_foreign_query(const HttpRequest& request, unsigned port) {
  const bool by_proxy =
      std::any_of(fields_of_queries.begin(), fields_of_queries.end(),
                  [&](std::string_view name) { return request.first(name).has_value(); });
  const Authority authority = split(request.first("host").value_or(""));
  if (!by_proxy) {
    if (const auto fault = fault_of_foreign_page(request)) return fault;
    return may_be_of_page(request, authority.host) ? std::optional(foreign_origin) : std::nullopt;
  }
  // A page whose name points here can send any field. But its Host has the port of this server,
  // which browsers leave out if it is 80, and that of a proxy's client has the port of the proxy.
  const std::string_view its_port = authority.port.empty() ? "80" : authority.port;
  if (is_own(authority.host) || its_port != std::to_string(port)) return std::nullopt;
  return foreign_host;
}

}  // namespace headgate::server
