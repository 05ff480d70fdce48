// Overrides as JSON: of the file that keeps them, and of the server's /v1/overrides.
//
//   {"policy":"burst","key":"10.0.0.2","quota":50,"window":"1m","since":1769860800,
//    "until":1769868000,"by":"127.0.0.1","reason":"demo"}
//
// quota "unlimited": no limit. window null: the policy's own. until null: until it is removed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/base/result.h"
#include "headgate/policy/live/override.h"

namespace headgate::policy {

// The longest key and reason [bytes]. They bound the memory of live_overrides_max overrides.
inline constexpr std::size_t override_key_max = 1024;
inline constexpr std::size_t override_reason_max = 200;

struct OverrideTextFault {
  std::size_t at = 0;  // byte of the text, from 0
  std::string what;    // printable ASCII
};

// Appends the members of the example above, without the brackets.
void append_members(std::string& out, const LiveOverride& override);

// Returns a file with these overrides, one per line.
[[nodiscard]] std::string override_file_text(const std::vector<LiveOverride>& overrides);

// Reads such a file. One without a byte is a fault.
[[nodiscard]] Result<std::vector<LiveOverride>, OverrideTextFault> read_override_file(
    std::string_view text);

// Reads {"quota": 50, "window": "1m", "for": "2h", "reason": "demo"}; all but quota may be left
// out. `now` is the Unix time [s]. Policy, key and maker are left empty.
[[nodiscard]] Result<LiveOverride, OverrideTextFault> read_override(std::string_view text,
                                                                    std::uint64_t now);

}  // namespace headgate::policy
