// An override that is made while a program runs: another quota for one partition, without another
// policy file.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headgate/base/instant.h"

namespace headgate::policy {

class PolicySet;

struct LiveOverride {
  std::string policy;
  std::string key;                       // as PolicySet::named() takes it
  std::optional<std::uint64_t> quota{};  // std::nullopt: unlimited
  std::optional<Nanos> window{};         // std::nullopt: the policy's own
  // For people and for its end; times are Unix times [s].
  std::uint64_t since = 0;
  std::optional<std::uint64_t> until{};  // std::nullopt: until it is removed
  std::string by{};                      // who has made it
  std::string reason{};

  [[nodiscard]] bool has_ended(std::uint64_t now) const noexcept { return until && *until <= now; }
  friend bool operator==(const LiveOverride&, const LiveOverride&) = default;
};

// The most overrides at a time: as many as policies, and a change of them takes milliseconds.
inline constexpr std::size_t live_overrides_max = 10'000;

// Overrides, and why those without effect are left out.
struct OverrideList {
  std::vector<LiveOverride> all;
  std::vector<std::string> faults;  // of the override with the same index, as in Overridden
};

// The result of PolicySet::with().
struct Overridden {
  std::shared_ptr<const PolicySet> policies;
  // For each override a sentence that says why it was left out; empty: it is in `policies`.
  std::vector<std::string> faults;
};

}  // namespace headgate::policy
