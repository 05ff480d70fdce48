// Any bytes as Boulder's files are refused with positioned, printable faults, or are limits that
// match any id.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/policy/boulder/read_boulder.h"

namespace {

using namespace headgate::policy;

void require(bool holds) {
  if (!holds) std::abort();
}

void check_texts(const std::vector<Fault>& faults) {
  for (const Fault& fault : faults) {
    require(!fault.what.empty());
    for (const char c : fault.what) require(c >= 0x20 && c <= 0x7e);
  }
}

void match_id(const PolicySet& set, std::string_view id) {
  for (const Policy& policy : set.policies()) {
    std::string key;
    const auto match = set.named(policy.name, id, 1, key);
    require(match.has_value() && match->grant != nullptr);
    // The readable form of the partition leads to the same key.
    std::string again;
    require(set.named(policy.name, match->partition, 1, again)->key == match->key);
  }
}

}  // namespace

// The files, with a NUL between them.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t nul = std::min(input.find('\0'), size);
  BoulderReader reader;
  Faults faults("fuzz");
  reader.read_defaults(input.substr(0, nul), faults);
  if (nul < size) reader.read_overrides(input.substr(nul + 1), faults);
  check_texts(faults.take_warnings());
  if (!faults.empty()) {
    check_texts(faults.take());
    return 0;
  }
  auto rules = std::make_unique<PolicySet::Rules>();
  reader.add_to(*rules, {1, 1}, faults);
  require(faults.empty());  // there is nothing else in the rules, and names are few
  const PolicySet set({}, std::move(rules));
  match_id(set, input.substr(0, 300));
  match_id(set, input.substr(size - std::min<std::size_t>(size, 30)));
  return 0;
}
