// One limit of envoyproxy/ratelimit's configuration, as the source of a policy::Grant.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/base/instant.h"

namespace headgate::policy {

// Numbered as in envoy.service.ratelimit.v3.RateLimitResponse.RateLimit.Unit.
enum class EnvoyUnit : std::uint8_t { second = 1, minute, hour, day, month, year, week };

// A month has 30 days and a year 365, as envoyproxy/ratelimit counts them.
[[nodiscard]] constexpr Nanos window_of(EnvoyUnit unit) noexcept {
  constexpr Nanos day = 86'400 * nanos_per_second;
  switch (unit) {
    case EnvoyUnit::second:
      return nanos_per_second;
    case EnvoyUnit::minute:
      return 60 * nanos_per_second;
    case EnvoyUnit::hour:
      return 3600 * nanos_per_second;
    case EnvoyUnit::day:
      return day;
    case EnvoyUnit::month:
      return 30 * day;
    case EnvoyUnit::year:
      return 365 * day;
    case EnvoyUnit::week:
      return 7 * day;
  }
  return 0;
}

struct EnvoyLimit {
  // A number for each `name` within a domain; 0: no name.
  using NameId = std::uint32_t;

  std::string name;   // as configured, for the response's current_limit; may be empty
  std::string title;  // the name in response fields: its name or its position in the file, unique
                      // in the domain. Empty: the fields do not report it
  std::uint32_t requests_per_unit = 0;
  EnvoyUnit unit = EnvoyUnit::second;
  bool shadow = false;           // decides and counts, never denies
  bool quota_mode = false;       // denies only if all limits of this kind deny the request
  NameId name_id = 0;            // of `name`
  std::vector<NameId> replaces;  // the names of the limits that it replaces
};

}  // namespace headgate::policy
