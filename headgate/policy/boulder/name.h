// The limits of Boulder (the software of Let's Encrypt): their names, and the ids of their buckets.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace headgate::policy {

// The form of a limit's ids. For some limits, a bucket's id begins with the id of its override.
enum class BoulderId : std::uint8_t {
  address,             // an IP address
  ipv6_range,          // an IPv6 /48
  account,             // a registration id
  account_identifier,  // "account:domain" or "account:address"; of an override: the account alone
  domain,              // a registered domain, an IPv4 address or an IPv6 /64
  account_domain,      // "account:" and a `domain`; of an override: the account alone
  identifier_set,      // domains and addresses, separated by ',', in any order
};

struct BoulderName {
  std::string_view name;
  BoulderId id;
  bool has_default = true;  // false: Boulder ignores a default of this limit

  // Returns what is wrong with the id of an override, or "". The text completes "id 'TEXT' ...".
  [[nodiscard]] std::string complaint(std::string_view override_id) const;

  // Returns why Boulder accepts this id of an override and never applies it, or "". The text
  // completes "id 'TEXT' ...". REQUIRES: there is no complaint about it.
  [[nodiscard]] std::string unused(std::string_view override_id) const;

  // Appends the id of a bucket or an override in its normal form: all spellings of an address,
  // domain or set have the same normal form. A text that is not such an id is not changed.
  void append_normal(std::string_view id, std::string& out) const;

  // Returns the part of a bucket's normal id that is the id of its override.
  [[nodiscard]] std::string_view override_of(std::string_view normal_id) const noexcept;
};

// In Boulder's order.
[[nodiscard]] std::span<const BoulderName> boulder_names() noexcept;

// Returns why a certificate cannot contain this host name, or "". The name must have at least two
// labels of letters, digits and '-', and be under a public suffix that ICANN delegates. It may
// begin with "*.". The text completes "id 'TEXT' ...".
[[nodiscard]] std::string domain_complaint(std::string_view name);

}  // namespace headgate::policy
