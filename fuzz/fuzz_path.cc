// Paths as upstreams route them. A folded path has no spelling left: it is itself when it is folded
// again, and matches its own pattern.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "headgate/policy/match/path.h"
#include "headgate/policy/match/request_target.h"
#include "headgate/policy/match/space.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headgate::policy;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto target = read_request_target(input);
  const std::string_view raw = target ? target->path : input;

  std::string folded;
  append_folded_path(raw, folded);
  std::string buffer;
  FoldedPath path(raw, buffer);
  require(path.text() == folded || raw == path.text());
  for (const std::string_view reading : path.readings()) {
    require(reading.size() <= 3 * raw.size());  // a '%' is "%25"
    require(!target || reading.starts_with('/'));
    require(reading == raw || reading.find("//") == std::string_view::npos);
  }
  require(!target || path.key().empty() || path.key().starts_with('/'));
  require(trailing_space(folded) == 0);
  std::string again;
  append_folded_path(folded, again);
  require(again == folded);
  if (target && folded.find('*') == std::string::npos) {
    require(PathPattern(folded).matches(folded));
    require(PathPattern(folded + "/*").matches(folded));
  }
  return 0;
}
