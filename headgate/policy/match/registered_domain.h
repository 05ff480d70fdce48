// The registered domain (eTLD+1) of a host name, by the Public Suffix List.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace headgate::policy {

// The longest host name, as text (RFC 1035, section 2.3.4).
inline constexpr std::size_t host_name_max = 253;

// Appends the registered domain of `host` to `out`, in lower case: "example.co.uk" for
// "www.example.co.uk". Appends the whole value if it has no registered domain: a public suffix, a
// single label, an address, or a text that is not a host name. Thread-safe.
void append_registered_domain(std::string_view host, std::string& out);

// Returns whether a name in lower case is a public suffix that ICANN delegates, such as "com" or
// "co.uk". A name of more than host_name_max bytes is not. Thread-safe.
[[nodiscard]] bool is_icann_suffix(std::string_view name) noexcept;

// Loads the list. Otherwise the first call of the functions above loads it, during a request.
void load_public_suffixes();

}  // namespace headgate::policy
