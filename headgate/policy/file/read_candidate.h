// Reads the `candidate` of a policy: other numbers that are tried beside its own.
#pragma once

#include <optional>
#include <string_view>

#include "headgate/policy/file/fault.h"
#include "headgate/policy/file/map_reader.h"
#include "headgate/policy/file/yaml.h"
#include "headgate/policy/policy.h"

namespace headgate::policy {

struct Candidate {
  Grant grant;
  Position quota_at;   // of the quota's value, for faults
  unsigned share = 0;  // [%], 0..100
};

// What is put behind the name of a policy for the name of its candidate.
inline constexpr std::string_view candidate_mark = " (candidate)";

// `live` is the policy. If it has no valid quota of its own, only the faults have a meaning.
// Returns std::nullopt if there was a fault.
[[nodiscard]] std::optional<Candidate> read_candidate(const yaml::Node& node, const Policy& live,
                                                      Faults& faults);

}  // namespace headgate::policy
