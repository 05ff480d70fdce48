// The policy file's settings, from its top-level map.
#pragma once

#include "headgate/policy/file/fault.h"
#include "headgate/policy/file/map_reader.h"
#include "headgate/policy/settings.h"

namespace headgate::policy {

// Reads everything but `version` and `policies`. Faulty settings keep their defaults.
[[nodiscard]] Settings read_settings(const MapReader& file, Faults& faults);

}  // namespace headgate::policy
