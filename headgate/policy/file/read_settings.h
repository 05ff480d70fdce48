// Reads the settings of a policy file from its top-level map.
#pragma once

#include "headgate/policy/file/fault.h"
#include "headgate/policy/file/map_reader.h"
#include "headgate/policy/settings.h"

namespace headgate::policy {

// Reads every key but `version`, `policies`, `boulder` and `envoy`. Faulty settings keep their
// defaults.
[[nodiscard]] Settings read_settings(const MapReader& file, Faults& faults);

}  // namespace headgate::policy
