// Who the client is, behind proxies that may be believed.
#pragma once

#include <optional>
#include <string_view>

#include "headgate/policy/address/address.h"
#include "headgate/policy/request.h"
#include "headgate/policy/settings.h"

namespace headgate::policy {

// The most hops and the most lines of Forwarded or X-Forwarded-For that are looked at.
inline constexpr std::size_t hops_max = 64;

// The client's address. A peer that is not a trusted proxy is the client itself, whatever its
// headers say. Behind a trusted one, Forwarded (RFC 7239) or X-Forwarded-For is read from the
// right: the first hop that is not trusted is the client. A hop without an address (unknown,
// obfuscated or malformed) ends the walk at the hop that reported it.
//
// Where both headers are present and name different clients, neither is believed and the peer is
// the client: a proxy that maintains one of them passes the other on as the client wrote it. The
// same with more than hops_max lines.
//
// std::nullopt: a Unix socket's peer that is not known better. Linear in the headers' length; no
// allocation.
[[nodiscard]] std::optional<Address> client_of(const Request& request,
                                               const ClientAddress& settings) noexcept;

// The address of one hop, as Forwarded and X-Forwarded-For write it: "192.0.2.1", "192.0.2.1:80",
// "2001:db8::1", "[2001:db8::1]" or "[2001:db8::1]:80". std::nullopt: it has none.
[[nodiscard]] std::optional<Address> node_address(std::string_view node) noexcept;

}  // namespace headgate::policy
