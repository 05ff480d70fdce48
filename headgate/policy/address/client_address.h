// The client's address, where trusted proxies forward the request.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "headgate/policy/address/address.h"
#include "headgate/policy/request.h"
#include "headgate/policy/settings.h"

namespace headgate::policy {

// The most hops that are read, the nearest ones. No real chain of proxies is nearly as long; the
// maximum bounds the memory for a header that an attacker has filled.
inline constexpr std::size_t hops_max = 64;

// Who sent a request.
struct Client {
  std::optional<Address> address;  // std::nullopt: the peer of a Unix socket, which has none
  // false: another one may have sent it, and have written headers that hide it behind `address`.
  bool is_certain = true;
  // Where headers disagree: the client by each of them.
  std::array<std::optional<Address>, 2> claimed;
};

// Returns the client. A peer that is not a trusted proxy is the client, whatever its headers
// contain. If the peer is trusted, Forwarded (RFC 7239) or X-Forwarded-For is read from the right:
// the first hop that is not trusted is the client. A hop without an address (unknown, obfuscated or
// malformed) ends the walk; the client is then the hop that reported it, which is not certain.
//
// If both headers are present and name different clients, both are ignored and the peer is the
// client, which is not certain: a proxy that maintains one of the headers forwards the other as the
// client wrote it.
//
// Linear in the length of the headers; does not allocate.
[[nodiscard]] Client find_client(const Request& request, const ClientAddress& settings) noexcept;

// Returns its address.
[[nodiscard]] inline std::optional<Address> client_of(const Request& request,
                                                      const ClientAddress& settings) noexcept {
  return find_client(request, settings).address;
}

// Returns the address of one hop, as Forwarded and X-Forwarded-For write it: "192.0.2.1",
// "192.0.2.1:80", "2001:db8::1", "[2001:db8::1]" or "[2001:db8::1]:80". Returns std::nullopt for
// any other text.
[[nodiscard]] std::optional<Address> node_address(std::string_view node) noexcept;

}  // namespace headgate::policy
