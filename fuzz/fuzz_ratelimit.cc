// The input is a header section: lines of `name: value`. It is read as a client reads it, and
// merged with a gateway's member, which must then be readable beside everything that upstream sent.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/field/merge.h"
#include "headgate/field/ratelimit.h"
#include "headgate/field/read/response.h"

namespace {

using namespace headgate::field;

void require(bool holds) {
  if (!holds) std::abort();
}

std::vector<HeaderLine> header_lines(std::string_view text) {
  std::vector<HeaderLine> lines;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::size_t colon = line.find(": ");
    if (colon == std::string_view::npos) continue;
    lines.push_back({line.substr(0, colon), line.substr(colon + 2)});
  }
  return lines;
}

std::vector<std::string_view> values(const std::vector<HeaderLine>& lines, std::string_view name) {
  std::vector<std::string_view> out;
  for (const HeaderLine& line : lines) {
    if (line.name == name) out.push_back(line.value);
  }
  return out;
}

std::vector<HeaderLine> without(std::vector<HeaderLine> lines, std::string_view name) {
  std::erase_if(lines, [name](const HeaderLine& line) { return line.name == name; });
  return lines;
}

// Appends the field that a gateway would send, and returns whether it sends one.
bool merge(std::vector<HeaderLine>& lines, Treatment treatment, HeaderLine own) {
  if (treatment == Treatment::keep) return false;
  if (treatment == Treatment::replace) lines = without(lines, own.name);
  lines.push_back(own);
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<HeaderLine> lines = header_lines({reinterpret_cast<const char*>(data), size});
  const bool cached = read_response(lines, 1'700'000'000).cached;

  const Upstream upstream =
      Upstream::read(values(lines, ratelimit_name), values(lines, policy_name));
  std::string name = "edge";
  if (upstream.has(name, {})) {
    const auto renamed = upstream.free_name(name, {}, "gateway-", {});
    if (!renamed) return 0;
    name = *renamed;
    require(!upstream.has(name, {}));
  }
  std::array<char, 200> limit_room{};
  std::array<char, 200> policy_room{};
  headgate::Writer limit(limit_room);
  headgate::Writer policy(policy_room);
  require(write_limit_member(limit, name, 3, 1, {}));
  require(write_policy_member(policy, name, 10, "requests", 1, {}));
  if (!merge(lines, upstream.ratelimit(), {ratelimit_name, limit.text()})) return 0;
  if (!merge(lines, upstream.policy(), {policy_name, policy.text()})) return 0;
  // values() finds only one spelling of the names, while read_response() finds any. A cached
  // response has no members.
  for (const HeaderLine& line : lines) {
    if (line.name.size() == ratelimit_name.size() && line.name != ratelimit_name) return 0;
    if (line.name.size() == policy_name.size() && line.name != policy_name) return 0;
  }
  if (cached) return 0;

  const ResponseView after = read_response(lines, 1'700'000'000);
  Member own;
  own.policy = name;
  own.q = 10;
  own.unit = default_unit;
  own.w = 1;
  own.r = 3;
  own.t = 1;
  require(std::find(after.members.begin(), after.members.end(), own) != after.members.end());
  // Beside it, a reader finds what upstream sent in lists, and prefers both to older dialects.
  std::vector<HeaderLine> lists(lines.begin(), lines.end() - 2);  // own members were added last
  std::erase_if(lists, [](const HeaderLine& line) {
    return line.name != ratelimit_name && line.name != policy_name;
  });
  require(after.members.size() == read_response(lists, {}).members.size() + 1);
  return 0;
}
