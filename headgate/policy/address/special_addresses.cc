#include "headgate/policy/address/special_addresses.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace headgate::policy {
namespace {

// The widest blocks of the registries, and multicast. Smaller blocks that the registries list
// inside of these are left out.
constexpr std::string_view registered[] = {
    "0.0.0.0/8",         "10.0.0.0/8",     "100.64.0.0/10",   "127.0.0.0/8",     "169.254.0.0/16",
    "172.16.0.0/12",     "192.0.0.0/24",   "192.0.2.0/24",    "192.31.196.0/24", "192.52.193.0/24",
    "192.88.99.0/24",    "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15",   "198.51.100.0/24",
    "203.0.113.0/24",    "224.0.0.0/4",    "240.0.0.0/4",     "::/127",          "64:ff9b::/96",
    "64:ff9b:1::/48",    "100::/63",       "2001::/23",       "2001:db8::/32",   "2002::/16",
    "2620:4f:8000::/48", "3fff::/20",      "5f00::/16",       "fc00::/7",        "fe80::/10",
    "ff00::/8"};

const std::vector<AddressBlock>& blocks() {
  static const std::vector<AddressBlock> all = [] {
    std::vector<AddressBlock> made;
    for (const std::string_view text : registered) made.push_back(*AddressBlock::parse(text));
    return made;
  }();
  return all;
}

}  // namespace

bool is_special(const AddressBlock& block) noexcept {
  return std::any_of(blocks().begin(), blocks().end(), [&](const AddressBlock& special) {
    return special.contains(block.lowest) || block.contains(special.lowest);
  });
}

}  // namespace headgate::policy
