#include "headgate/policy/match/condition.h"

#include <algorithm>

namespace headgate::policy {
namespace {

bool any_line_matches(const LazyRequest& request, const Condition::HeaderGlob& header) {
  for (std::size_t nth = 0; nth < header_lines_max; ++nth) {
    const auto line = request.header(header.name, nth);
    if (!line) return false;
    if (header.value.matches(*line)) return true;
  }
  return false;
}

}  // namespace

bool Condition::holds(LazyRequest& request) const {
  if (!methods.empty() &&
      std::find(methods.begin(), methods.end(), request.raw().method) == methods.end())
    return false;
  if (path && !path->matches(request.raw().path)) return false;
  if (host && !host->matches(request.host())) return false;
  return std::all_of(headers.begin(), headers.end(),
                     [&](const HeaderGlob& header) { return any_line_matches(request, header); });
}

}  // namespace headgate::policy
