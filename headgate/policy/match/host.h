// Hosts of requests and of the policy file, in the form in which they are compared.
#pragma once

#include <string>
#include <string_view>

namespace headgate::policy {

inline constexpr std::string_view malformed_host = "@";  // no well-formed host

// Appends a host without port as URL parsers read it (https://url.spec.whatwg.org/#host-parsing):
//
//   - names are in lower case, without a final dot
//   - an address is its canonical text, IPv6 in brackets: "[2001:DB8:0::1]" is "[2001:db8::1]", and
//     "192.0.519", "0xc0.0.2.7" and "3221225991" are "192.0.2.7"
//   - all malformed hosts are "@", so that no spelling is a key of its own: those that is_host()
//     refuses, and those in brackets or with a number as their last label that are no address
//
// Linear.
void append_host(std::string_view host, std::string& out);

// Returns the pattern of a `host`, in which '*' matches any characters, in the form that
// append_host() produces. A pattern that is no address is in lower case, and otherwise unchanged.
[[nodiscard]] std::string host_pattern(std::string_view pattern);

// Returns whether two hosts without port are the same text, but for the case of letters and a final
// dot: every program reads the same host in them.
[[nodiscard]] bool is_same_text(std::string_view host, std::string_view other) noexcept;

}  // namespace headgate::policy
