// Reads the key `redis` of `store`.
#pragma once

#include "headgate/policy/file/fault.h"
#include "headgate/policy/file/yaml.h"
#include "headgate/policy/settings.h"

namespace headgate::policy {

// How long a request may wait for Redis [ns]. Longer than 5 s, a client has left.
inline constexpr Nanos redis_timeout_min = 1'000'000;
inline constexpr Nanos redis_timeout_max = 5 * nanos_per_second;

// Faulty settings keep their defaults.
[[nodiscard]] RedisSettings read_redis(const yaml::Node& node, Faults& faults);

}  // namespace headgate::policy
