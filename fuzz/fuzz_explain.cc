// The input is what `headgate explain` reads: header sections, then a body. The view of any dialect
// must be consistent, and the explanation must be printable ASCII.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "headgate/base/instant.h"
#include "headgate/cli/explain/explanation.h"
#include "headgate/cli/explain/header_section.h"
#include "headgate/cli/explain/view_json.h"
#include "headgate/field/read/response.h"
#include "headgate/base/ascii.h"

namespace {

using namespace headgate;

constexpr std::int64_t now = 1'700'000'000;

void require(bool holds) {
  if (!holds) std::abort();
}

bool in_range(const std::optional<std::uint64_t>& seconds) {
  return !seconds || *seconds <= field_integer_max;
}

void check(const field::ResponseView& view, const std::vector<field::HeaderLine>& headers) {
  require(view.members.empty() == (view.source == field::Source::none));
  require(view.members.empty() || !view.cached);
  require(in_range(view.retry_after));
  for (const field::Member& member : view.members) {
    require(member.q || member.r);
    require(in_range(member.t) && in_range(member.w) && member.w != std::uint64_t{0});
    require(member.policy.has_value() || view.source != field::Source::ratelimit);
  }
  for (const field::Ignored& ignored : view.ignored) {
    require(ignored.line < headers.size());
    require(is_named(headers[ignored.line], ignored.name));
    require(ignored.offset <= headers[ignored.line].value.size());
  }
}

// The view of the same section with the case of all names changed.
std::string in_other_case(const cli::HeaderSection& section) {
  cli::HeaderSection other = section;
  for (cli::HeaderSection::Line& line : other.lines) {
    for (char& c : line.name) {
      if (c >= 'a' && c <= 'z') {
        c = static_cast<char>(c - 'a' + 'A');
      } else {
        c = headgate::lower(c);
      }
    }
  }
  return cli::view_json(field::read_response(other.headers(), now));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::istringstream in(std::string(reinterpret_cast<const char*>(data), size));
  const auto section = cli::read_header_section(in);
  if (!section) {
    require(!section.error().empty());
    return 0;
  }
  const auto headers = section->headers();
  const field::ResponseView view = field::read_response(headers, now);
  check(view, headers);
  check(field::read_response(headers, {}), headers);
  require(cli::view_json(view) == in_other_case(*section));
  const std::string words = cli::explanation(*section, now);
  require(std::all_of(words.begin(), words.end(),
                      [](char c) { return c == '\n' || (c >= 0x20 && c <= 0x7e); }));
  return 0;
}
