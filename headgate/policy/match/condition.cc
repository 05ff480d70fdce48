#include "headgate/policy/match/condition.h"

#include <algorithm>

namespace headgate::policy {
namespace {

bool any_line_matches(const LazyRequest& subject, const Condition::HeaderGlob& header) {
  for (std::size_t nth = 0; nth < header_lines_max; ++nth) {
    const auto line = subject.header(header.name, nth);
    if (!line) return false;
    if (header.value.matches(*line)) return true;
  }
  return false;
}

}  // namespace

bool Condition::holds(LazyRequest& subject) const {
  const Request& request = subject.request();
  if (!methods.empty() &&
      std::find(methods.begin(), methods.end(), request.method) == methods.end())
    return false;
  if (path && !path->matches(request.path)) return false;
  if (host && !host->matches(subject.host())) return false;
  return std::all_of(headers.begin(), headers.end(),
                     [&](const HeaderGlob& header) { return any_line_matches(subject, header); });
}

}  // namespace headgate::policy
