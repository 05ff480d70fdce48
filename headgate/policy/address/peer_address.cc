#include "headgate/policy/address/peer_address.h"

#include "headgate/policy/text.h"

namespace headgate::policy {

std::optional<Address> peer_address(std::string_view text) noexcept {
  std::string_view host = without_port(text);
  const bool in_brackets = host.starts_with('[') && host.ends_with(']');
  if (in_brackets) host = host.substr(1, host.size() - 2);
  const std::size_t zone = host.find('%');
  const bool has_zone = zone != host.npos;
  host = host.substr(0, zone);
  const bool looks_like_v6 = host.find(':') != host.npos;
  if (has_zone ? !looks_like_v6 : looks_like_v6 && !in_brackets) return std::nullopt;
  return Address::parse(host);
}

}  // namespace headgate::policy
