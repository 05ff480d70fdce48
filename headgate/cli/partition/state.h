// What one partition of a running server has, as its /v1/state says it.
#pragma once

#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>

#include "headgate/base/instant.h"
#include "headgate/base/result.h"

namespace headgate::cli {

struct PartitionState {
  std::string policy;  // printable ASCII, as all texts here
  std::string key;     // an empty one is replaced by EmptyKey::words()
  std::string unit;
  bool limited = false;   // false: the policy is off, or the key is unlimited
  bool enforced = false;  // whether a denial denies; false in shadow mode
  bool has_override = false;
  bool admitted = false;   // whether a request that costs one unit would be
  bool in_outage = false;  // decided without Redis: what is left is not known
  std::uint64_t quota = 0;
  std::uint64_t left = 0;         // units
  std::optional<Nanos> window{};  // std::nullopt: concurrency
  // Until one unit is admitted; if it is, how long its request has to wait, though [s].
  std::optional<std::uint64_t> wait{};
  std::optional<std::uint64_t> full{};  // until the quota is full again [s]

  // The last denial that the server remembers.
  struct Denial {
    std::uint64_t ago = 0;  // [s]
    bool enforced = false;
    std::uint64_t cost = 0;  // [units], as left and quota at that time
    std::uint64_t left = 0;
    std::uint64_t quota = 0;
    std::optional<std::uint64_t> wait{};  // that it announced [s]
  };
  std::optional<Denial> last_denial{};

  [[nodiscard]] bool denies() const noexcept { return !admitted && enforced; }
  // Whether a request is admitted after a wait, by a policy with a delay.
  [[nodiscard]] bool delays() const noexcept { return admitted && wait.value_or(0) > 0; }

  // Reads the body of a response.
  [[nodiscard]] static Result<PartitionState, std::string> parse(std::string_view json);

  // Returns one line. `now`: since 1970 [s].
  [[nodiscard]] std::string words(std::time_t now) const;
};

// Returns "2026-01-31 12:00:12 UTC", or "" if that is in more than four digits of a year.
[[nodiscard]] std::string time_words(std::uint64_t unix_time);

// Returns "for 12 s more, until 2026-01-31 12:00:12 UTC".
[[nodiscard]] std::string until_words(std::uint64_t seconds, std::time_t now);

}  // namespace headgate::cli
