// The limits that Boulder (the software of Let's Encrypt) has, and how each names what it counts.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace headgate::policy {

// What an id of a limit is. A bucket's id may be longer than that of the override that it is under.
enum class BoulderId : std::uint8_t {
  address,             // an IP address
  ipv6_range,          // an IPv6 /48
  account,             // a registration id
  account_identifier,  // "account:domain", "account:address"; override: the account
  domain,              // a registered domain, an IPv4 address or an IPv6 /64
  account_domain,      // "account:" and a `domain`; override: the account
  identifier_set,      // domains and addresses with ',' between them, in any order
};

struct BoulderName {
  std::string_view name;
  BoulderId id;
  bool has_default = true;  // false: Boulder ignores it among the defaults

  // What is wrong with the id of an override; completes "id 'TEXT' ...". Empty: nothing.
  [[nodiscard]] std::string complaint(std::string_view override_id) const;

  // Appends the id of a bucket or an override in the one form that is counted: the same address,
  // domain or set is the same text, however it was given. What is no such id stays as it is.
  void append_normal(std::string_view id, std::string& out) const;

  // The part of a bucket's normal id that its override goes by.
  [[nodiscard]] std::string_view override_of(std::string_view normal_id) const noexcept;
};

// In Boulder's order.
[[nodiscard]] std::span<const BoulderName> boulder_names() noexcept;

// Whether a host name could be in a certificate: at least two labels of letters, digits and '-',
// under a public suffix that ICANN delegates. "*." in front is allowed. The complaint completes
// "id 'TEXT' ..."; empty: nothing is wrong.
[[nodiscard]] std::string domain_complaint(std::string_view name);

}  // namespace headgate::policy
