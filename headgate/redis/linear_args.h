// The linear law's part of a call of take.lua.
#pragma once

#include <optional>
#include <string>

#include "headgate/base/instant.h"
#include "headgate/store/charge.h"

namespace headgate::redis {

// Whether take.lua can decide this charge exactly: the law is linear, its numbers fit into limbs,
// and so does `given`, if the caller gives a time.
[[nodiscard]] bool decided_by_script(const store::Charge& charge,
                                     const std::optional<Instant>& given) noexcept;

// Appends the 57 bytes of the charge. REQUIRES: decided_by_script().
void append_linear_args(const store::Charge& charge, std::string& out);

// Appends ARGV[1] for a time that is not Redis' own of this moment. `kept`: how long keys are kept
// beyond their need [ms]. REQUIRES: 0 <= now.
void append_time(Instant now, double kept, std::string& out);

}  // namespace headgate::redis
