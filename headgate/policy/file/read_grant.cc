#include "headgate/policy/file/read_grant.h"

#include <string>

#include "headgate/policy/file/read_calendar.h"
#include "headgate/policy/file/read_quota.h"
#include "headgate/policy/law_of.h"

namespace headgate::policy {

std::optional<Grant> make_grant(const limit::Quota& quota, const limit::Terms& terms, Position at,
                                Faults& faults) {
  Grant grant{quota, false, limit::Closed{}};
  if (make_laws(terms, grant)) return grant;
  faults.add(at, "quota " + std::to_string(quota.units) + " over this window" +
                     (terms.penalty > 0 ? " and penalty" : "") +
                     (terms.delay > 0 ? " and delay" : "") +
                     " is beyond exact 128-bit arithmetic; expected a smaller quota or shorter "
                     "times");
  return std::nullopt;
}

std::optional<limit::Quota> read_other_quota(const MapReader& map, const limit::Quota& base,
                                             const limit::Terms& terms, Faults& faults) {
  if (terms.algorithm == limit::Algorithm::concurrency) return read_slots(map, faults);
  if (terms.calendar != nullptr) return read_calendar_override(map, *terms.calendar, faults);
  return read_quota(map, &base, faults);
}

}  // namespace headgate::policy
