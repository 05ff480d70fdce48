#include "headgate/field/read/resources.h"

#include <iterator>
#include <string>
#include <utility>

#include "headgate/base/ascii.h"
#include "headgate/field/ratelimit.h"
#include "headgate/field/read/plain_number.h"

namespace headgate::field {

std::optional<std::vector<Member>> parse_resources(std::string_view value) {
  std::vector<Member> members;
  while (true) {
    const std::size_t end = value.find(',');
    const std::string_view entry = value.substr(0, end);
    const std::size_t mark = entry.rfind(';');
    if (mark == entry.npos) return {};
    const std::string_view name = trimmed(entry.substr(0, mark));
    const auto left = parse_plain_number(entry.substr(mark + 1));
    if (name.empty() || !left) return {};
    Member& member = members.emplace_back();
    member.policy = name;
    member.unit = default_unit;
    member.r = left->floor();
    if (end == value.npos) return members;
    value.remove_prefix(end + 1);
  }
}

std::vector<Member> read_resources(std::span<const HeaderLine> headers, IgnoredList& ignored) {
  std::vector<Member> members;
  for (const HeaderLine& line : headers) {
    if (!is_named(line, resources_name)) continue;
    if (auto read = parse_resources(line.value)) {
      std::move(read->begin(), read->end(), std::back_inserter(members));
    } else {
      const auto index = static_cast<std::size_t>(&line - headers.data());
      ignored.push_back({std::string(resources_name), "expected NAME;NUMBER, ...", index, 0});
      return {};
    }
  }
  return members;
}

}  // namespace headgate::field
