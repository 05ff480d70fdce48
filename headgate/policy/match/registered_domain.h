// The registered domain (eTLD+1) of a host name, by the Public Suffix List.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace headgate::policy {

// The longest host name, as text (RFC 1035, section 2.3.4).
inline constexpr std::size_t host_name_max = 253;

// Replaces the host name that ends `text`, from `begin` on, with its registered domain in lower
// case: "www.example.co.uk" with "example.co.uk". What has no registered domain stays as a whole,
// in lower case: a public suffix, a single label, an address, or a text that is not a host name.
// Thread-safe.
void keep_registered_domain(std::string& text, std::size_t begin);

// Appends `host` and keeps its registered domain, as above.
void append_registered_domain(std::string_view host, std::string& out);

// Returns whether a name in lower case is a public suffix that ICANN delegates, such as "com" or
// "co.uk". A name of more than host_name_max bytes is not. Thread-safe.
[[nodiscard]] bool is_icann_suffix(std::string_view name) noexcept;

// Loads the list. Otherwise the first call of the functions above loads it, during a request.
void load_public_suffixes();

}  // namespace headgate::policy
