#include "headgate/policy/match/condition.h"

#include <algorithm>

namespace headgate::policy {
namespace {

bool any_line_matches(const Headers& headers, const Condition::HeaderGlob& header) {
  for (std::size_t nth = 0; const auto line = headers.value(header.name, nth); ++nth) {
    if (header.value.matches(*line)) return true;
  }
  return false;
}

bool any_reading_matches(FoldedPath& path, const PathPattern& pattern) {
  const auto readings = path.readings();
  return std::any_of(readings.begin(), readings.end(),
                     [&](std::string_view reading) { return pattern.matches(reading); });
}

}  // namespace

bool Condition::holds(LazyRequest& request) const {
  if (!methods.empty() &&
      std::find(methods.begin(), methods.end(), request.raw().method) == methods.end()) {
    return false;
  }
  if (exact_path && !exact_path->matches(request.raw().path)) return false;
  if (path && !any_reading_matches(request.path(), *path)) return false;
  if (host && !host->matches(request.host())) return false;
  return std::all_of(headers.begin(), headers.end(), [&](const HeaderGlob& header) {
    return any_line_matches(*request.raw().headers, header);
  });
}

}  // namespace headgate::policy
