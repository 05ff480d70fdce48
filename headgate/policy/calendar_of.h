// The calendars of the places that the system's time zone database has.
#pragma once

#include <string>
#include <string_view>

#include "headgate/base/result.h"
#include "headgate/limit/calendar.h"

namespace headgate::policy {

// Returns the calendar of a time zone such as Europe/Berlin or UTC. It is read once, and lives as
// long as the process, so that every policy set may point to it. Thread-safe. The error completes
// the sentence "time-zone NAME ...".
[[nodiscard]] Result<const limit::Calendar*, std::string> calendar_of(limit::CalendarUnit unit,
                                                                      std::string_view time_zone);

}  // namespace headgate::policy
