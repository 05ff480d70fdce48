// Any bytes as a configuration of envoyproxy/ratelimit are refused with positioned, printable
// faults, or are limits that match any descriptor, as entries and as a text.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/policy/envoy/read_envoy.h"

namespace {

using namespace headgate::policy;

void require(bool holds) {
  if (!holds) std::abort();
}

void check_faults(Faults& faults) {
  for (const Fault& fault : faults.take()) {
    require(!fault.what.empty());
    for (const char c : fault.what) require(c >= 0x20 && c <= 0x7e);
  }
}

// A descriptor has the same limit as entries and as a text.
void match_descriptor(const PolicySet& set, std::string_view domain, std::string_view text) {
  std::string buffer;
  const std::vector<DescriptorEntry> entries = split_descriptor(text, buffer);
  std::string readable;
  append_readable(entries, readable);
  std::string again;
  const std::vector<DescriptorEntry> same = split_descriptor(readable, again);
  require(same.size() == entries.size());

  const Descriptor descriptor{entries};
  Scratch scratch;
  const Match match = set.match(domain, {&descriptor, 1}, scratch)[0];
  std::string key;
  const auto named = set.named(domain, readable, 1, key);
  require(named.has_value() && named->partition == readable);
  if (match.policy == nullptr) {
    require(named->grant->unlimited);
    return;
  }
  require(named->grant == match.grant && named->key == match.key);
  require(match.grant->envoy != nullptr && !match.grant->envoy->title.empty());
}

}  // namespace

// The input: a configuration, then descriptors as texts, each after a NUL.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto next = [&input] {
    const std::string_view part = input.substr(0, input.find('\0'));
    input.remove_prefix(std::min(input.size(), part.size() + 1));
    return part;
  };
  EnvoyReader reader;
  Faults faults("fuzz");
  reader.read(next(), envoy_terms(), faults);
  auto rules = std::make_unique<PolicySet::Rules>();
  reader.add_to(*rules, {1, 1}, faults);
  if (!faults.empty()) {
    check_faults(faults);
    return 0;
  }
  const PolicySet set({}, std::move(rules));
  const std::string& domain = set.policies().front().name;
  do match_descriptor(set, domain, next());
  while (!input.empty());
  return 0;
}
