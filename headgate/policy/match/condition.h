// A condition on requests: one entry of a policy's `match`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headgate/policy/match/glob.h"
#include "headgate/policy/match/lazy_request.h"

namespace headgate::policy {

// The most lines of one header that are compared. Each look-up of a line may scan the whole header
// section, so this bounds the work per request.
inline constexpr std::size_t header_lines_max = 64;

// Holds if all of its parts hold. An absent part always holds.
struct Condition {
  struct HeaderGlob {
    std::string name;  // lower case
    Glob value;        // holds if any line with that name matches; without such a line, it does not
  };

  std::optional<Glob> path;
  std::vector<std::string> methods;  // holds for any of them; empty: for every method
  std::optional<Glob> host;          // lower case
  std::vector<HeaderGlob> headers;

  [[nodiscard]] bool holds(LazyRequest& request) const;
};

}  // namespace headgate::policy
