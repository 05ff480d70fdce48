// The registered domain (eTLD+1) of a host name, by the Public Suffix List.
#pragma once

#include <string>
#include <string_view>

namespace headgate::policy {

// Appends the registered domain of `host` to `out`: "example.co.uk" for "www.example.co.uk".
// In lower case. Where there is none (a public suffix itself, a single label, an address, anything
// that is no host name), the whole value. Thread-safe.
void append_registered_domain(std::string_view host, std::string& out);

// Whether a name, in lower case, is itself a public suffix that ICANN delegates: "com", "co.uk". At
// most 253 bytes. Thread-safe.
[[nodiscard]] bool is_icann_suffix(std::string_view name) noexcept;

// Loads the list, which the first call above would otherwise do on a request's path.
void load_public_suffixes();

}  // namespace headgate::policy
