#include "headgate/policy/calendar_of.h"

#include <absl/time/time.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "headgate/base/ascii.h"

namespace headgate::policy {
namespace {

// Whether the text is a name of the database, and not a path that leads out of it.
bool is_zone_name(std::string_view text) {
  constexpr std::string_view marks = "_+-/";
  return !text.empty() && text.front() != '/' && std::all_of(text.begin(), text.end(), [&](char c) {
    return is_letter(c) || is_digit(c) || marks.find(c) != marks.npos;
  });
}

std::int32_t ahead(const absl::TimeZone& zone, absl::Time at) {
  return static_cast<std::int32_t>(zone.At(at).offset);
}

// All changes since 1970. The database has rules for those to come; the library applies them to the
// next four centuries.
std::vector<limit::Calendar::Change> changes_of(const absl::TimeZone& zone) {
  std::vector<limit::Calendar::Change> changes{{0, ahead(zone, absl::UnixEpoch())}};
  absl::Time at = absl::UnixEpoch();
  absl::TimeZone::CivilTransition change;
  while (zone.NextTransition(at, &change)) {
    // The earlier of the two times is one that clocks leave out, or show twice; or they are the
    // same, and only the time's name changes.
    at = zone.At(std::min(change.from, change.to)).trans;
    changes.push_back({absl::ToUnixSeconds(at), ahead(zone, at)});
  }
  return changes;
}

}  // namespace

Result<const limit::Calendar*, std::string> calendar_of(limit::CalendarUnit unit,
                                                        std::string_view time_zone) {
  static std::mutex mutex;
  static std::map<std::pair<limit::CalendarUnit, std::string>, std::unique_ptr<limit::Calendar>>
      calendars;
  const std::string name(time_zone);
  absl::TimeZone zone;
  if (!is_zone_name(time_zone) || !absl::LoadTimeZone(name, &zone)) {
    return Failure<std::string>(
        "is not in the system's time zone database; expected a name like Europe/Berlin, or UTC");
  }
  const std::lock_guard lock(mutex);
  auto& calendar = calendars[{unit, name}];
  if (calendar == nullptr) {
    calendar = std::make_unique<limit::Calendar>(unit, name, changes_of(zone));
  }
  return calendar.get();
}

}  // namespace headgate::policy
