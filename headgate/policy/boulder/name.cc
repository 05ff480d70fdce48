#include "headgate/policy/boulder/name.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "headgate/base/ascii.h"
#include "headgate/policy/address/address.h"
#include "headgate/policy/address/peer_address.h"
#include "headgate/policy/address/special_addresses.h"
#include "headgate/policy/file/spelling.h"
#include "headgate/policy/match/registered_domain.h"
#include "headgate/policy/quantity.h"

namespace headgate::policy {
namespace {

constexpr BoulderName names[] = {
    {"NewRegistrationsPerIPAddress", BoulderId::address},
    {"NewRegistrationsPerIPv6Range", BoulderId::ipv6_range},
    {"NewOrdersPerAccount", BoulderId::account},
    {"FailedAuthorizationsPerDomainPerAccount", BoulderId::account_identifier},
    {"CertificatesPerDomain", BoulderId::domain},
    {"CertificatesPerDomainPerAccount", BoulderId::account_domain, false},
    {"CertificatesPerFQDNSet", BoulderId::identifier_set},
    {"FailedAuthorizationsForPausingPerDomainPerAccount", BoulderId::account_identifier},
    {"LimitOverrideRequestsPerIPAddress", BoulderId::address}};

constexpr std::size_t labels_max = 10;  // as Boulder's policy for names
constexpr std::size_t label_max = 63;   // RFC 1035, section 2.3.4

constexpr unsigned range_prefix = 48;  // of NewRegistrationsPerIPv6Range
constexpr unsigned v6_prefix = 64;     // of IPv6 addresses in CertificatesPerDomain

std::string text_of(const Address& address, unsigned prefix) {
  char text[Address::text_max];
  return {text, address.write(text, prefix)};
}

std::string address_complaint(std::string_view id) {
  const auto address = Address::parse(id);
  if (!address) return "is not an IP address; expected one like 64.112.117.1";
  const std::string normal = text_of(*address, address->bits());
  if (is_special({*address, address->bits()})) {
    return "is reserved for special purposes; expected an address that a client can have";
  }
  if (normal != id) return "is not in canonical form; expected " + normal;
  return {};
}

std::string range_complaint(std::string_view id) {
  constexpr auto expected = "; expected a /48 like 2602:80a:6000::/48";
  const std::size_t slash = id.find('/');
  const auto address = Address::parse(id.substr(0, slash));
  if (!address || address->is_v4() || slash == id.npos) {
    return std::string("is not an IPv6 range") + expected;
  }
  if (id.substr(slash) != "/48") return std::string("is not a /48") + expected;
  const Address lowest = address->masked(range_prefix);
  const std::string normal = text_of(lowest, range_prefix);
  if (is_special({lowest, range_prefix})) {
    return "is reserved for special purposes; expected a range that a client can have";
  }
  if (normal != id) return "is not in canonical form; expected " + normal;
  return {};
}

std::string account_complaint(std::string_view id) {
  constexpr auto max = std::numeric_limits<std::uint64_t>::max();
  if (parse_integer(id, 0, max)) return {};
  return "is not a registration id; expected an integer like 12345678";
}

// For a domain or address that certificates can contain.
std::string identifier_complaint(std::string_view id) {
  return Address::parse(id) ? address_complaint(id) : domain_complaint(id);
}

// An id of one bucket is accepted, too.
std::string account_identifier_complaint(std::string_view id) {
  const std::size_t colon = id.find(':');
  std::string complaint = account_complaint(id.substr(0, colon));
  return complaint.empty() && colon != id.npos ? identifier_complaint(id.substr(colon + 1))
                                               : complaint;
}

std::string registered_complaint(std::string_view id) {
  if (const auto address = Address::parse(id)) {
    std::string complaint = address_complaint(id);
    if (!complaint.empty() || address->is_v4() || *address == address->masked(v6_prefix)) {
      return complaint;
    }
    return "is not the lowest address of its /64, which this limit counts as one; expected " +
           text_of(address->masked(v6_prefix), 128);
  }
  return domain_complaint(id);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t end = 0; end != text.npos; text.remove_prefix(end + 1)) {
    end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == text.npos) break;
  }
  return parts;
}

std::string set_complaint(std::string_view id) {
  for (const std::string_view part : split(id, ',')) {
    std::string complaint = identifier_complaint(part);
    if (complaint.empty()) continue;
    return "has a member " + in_quotes(part) + " that " + complaint;
  }
  return {};
}

std::string normal_account(std::string_view id) {
  const auto number = parse_integer(id, 0, std::numeric_limits<std::uint64_t>::max());
  return number ? std::to_string(*number) : std::string(id);
}

// A caller may know an address by its socket, "[2602:80a:6000::1]:443".
std::optional<Address> given_address(std::string_view id) {
  const auto address = Address::parse(id);
  return address ? address : peer_address(id);
}

// A caller may know a domain as an absolute one, "example.com.".
std::string normal_identifier(std::string_view id) {
  id = id.substr(0, id.find_last_not_of('.') + 1);
  const auto address = given_address(id);
  return address ? text_of(*address, address->bits()) : lowered(id);
}

std::string normal_range(std::string_view id, unsigned v4_bits, unsigned v6_bits) {
  const std::size_t slash = id.find('/');
  const auto address = given_address(id.substr(0, slash));
  const unsigned bits = address && address->is_v4() ? v4_bits : v6_bits;
  if (!address || bits == 0 || (slash != id.npos && id.substr(slash + 1) != std::to_string(bits))) {
    return std::string(id);
  }
  std::string out = text_of(address->masked(bits), bits);
  if (bits == address->bits()) out += '/' + std::to_string(bits);
  return out;
}

// Repeats until the text does not change any more: in a text that is not a domain, each step may
// remove another part.
std::string normal_domain(std::string_view id) {
  if (given_address(id.substr(0, id.find('/')))) return normal_range(id, 32, v6_prefix);
  std::string out;
  append_registered_domain(id.starts_with("*.") ? id.substr(2) : id, out);
  return out == id ? out : normal_domain(out);
}

// Returns the domains and then the addresses, each sorted and without duplicates.
std::string normal_set(std::string_view id) {
  std::vector<std::pair<bool, std::string>> members;
  for (const std::string_view part : split(id, ',')) {
    std::string normal = normal_identifier(part);
    const bool is_address = Address::parse(normal).has_value();
    members.emplace_back(is_address, std::move(normal));
  }
  std::sort(members.begin(), members.end());
  members.erase(std::unique(members.begin(), members.end()), members.end());
  std::string out;
  for (const auto& [is_address, text] : members) {
    if (!out.empty()) out += ',';
    out += text;
  }
  return out;
}

// Returns "account:rest", with the rest in the form that `normal` returns.
template <class Normal>
std::string under_account(std::string_view id, Normal normal) {
  const std::size_t colon = id.find(':');
  if (colon == id.npos) return normal_account(id);
  return normal_account(id.substr(0, colon)) + ':' + normal(id.substr(colon + 1));
}

bool is_label(std::string_view label) {
  const auto may_stand = [](char c) { return c == '-' || is_digit(c) || is_letter(c); };
  return !label.empty() && label.size() <= label_max && label.front() != '-' &&
         label.back() != '-' && std::all_of(label.begin(), label.end(), may_stand);
}

}  // namespace

std::span<const BoulderName> boulder_names() noexcept { return names; }

std::string domain_complaint(std::string_view name) {
  if (name.empty()) return "is empty; expected a domain like example.com";
  const bool wildcard = name.starts_with("*.");
  const std::string_view rest = wildcard ? name.substr(2) : name;
  const std::vector<std::string_view> labels = split(rest, '.');
  if (name.size() > host_name_max || labels.size() > labels_max) {
    return "is too long; expected at most 253 characters in 10 labels";
  }
  for (const std::string_view label : labels) {
    if (!is_label(label)) {
      return "is not a domain; expected labels of 1 to 63 letters, digits and '-' within";
    }
    if (label.size() > 3 && label.substr(2, 2) == "--" && lowered(label.substr(0, 2)) != "xn") {
      return "has '--' where only xn-- labels have it; expected a domain like example.com";
    }
  }
  if (labels.size() < 2) return "has no dot; expected a domain like example.com";
  const std::string host = lowered(rest);
  if (is_icann_suffix(host)) {
    return "is a public suffix; expected a domain under it, like example." + host;
  }
  for (std::size_t dot = host.find('.'); dot != host.npos; dot = host.find('.', dot + 1)) {
    if (is_icann_suffix(std::string_view(host).substr(dot + 1))) return {};
  }
  return "ends in no public suffix; expected a domain like example.com";
}

std::string BoulderName::complaint(std::string_view override_id) const {
  if (override_id.empty()) return "is empty; expected what the limit counts by";
  switch (id) {
    case BoulderId::address:
      return address_complaint(override_id);
    case BoulderId::ipv6_range:
      return range_complaint(override_id);
    case BoulderId::account:
      return account_complaint(override_id);
    case BoulderId::account_identifier:
    case BoulderId::account_domain:
      return account_identifier_complaint(override_id);
    case BoulderId::domain:
      return registered_complaint(override_id);
    case BoulderId::identifier_set:
      return set_complaint(override_id);
  }
  return {};
}

std::string BoulderName::unused(std::string_view override_id) const {
  constexpr std::string_view never = "is never applied, because this limit ";
  if (id == BoulderId::domain && !Address::parse(override_id)) {
    std::string registered;
    append_registered_domain(override_id.starts_with("*.") ? override_id.substr(2) : override_id,
                             registered);
    if (registered == lowered(override_id)) return {};
    return std::string(never) + "counts by registered domains; expected " + registered;
  }
  const std::size_t colon = override_id.find(':');
  if ((id == BoulderId::account_identifier || id == BoulderId::account_domain) &&
      colon != override_id.npos) {
    return std::string(never) + "looks up overrides by the registration id alone; expected " +
           std::string(override_id.substr(0, colon));
  }
  return {};
}

void BoulderName::append_normal(std::string_view given, std::string& out) const {
  switch (id) {
    case BoulderId::address:
      out += normal_identifier(given);
      break;
    case BoulderId::ipv6_range:
      out += normal_range(given, 0, range_prefix);
      break;
    case BoulderId::account:
      out += normal_account(given);
      break;
    case BoulderId::account_identifier:
      out += under_account(given, normal_identifier);
      break;
    case BoulderId::domain:
      out += normal_domain(given);
      break;
    case BoulderId::account_domain:
      out += under_account(given, normal_domain);
      break;
    case BoulderId::identifier_set:
      out += normal_set(given);
      break;
  }
}

std::string_view BoulderName::override_of(std::string_view normal_id) const noexcept {
  const bool has_account = id == BoulderId::account_identifier || id == BoulderId::account_domain;
  return has_account ? normal_id.substr(0, normal_id.find(':')) : normal_id;
}

}  // namespace headgate::policy
