// One entry of a policy's `match`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headgate/policy/match/glob.h"
#include "headgate/policy/match/lazy_request.h"

namespace headgate::policy {

// The most lines of one header that are looked at.
inline constexpr std::size_t header_lines_max = 64;

// All parts that are present must hold.
struct Condition {
  struct HeaderGlob {
    std::string name;  // lower case
    Glob value;        // any line of that name may match; an absent header never does
  };

  std::optional<Glob> path;
  std::vector<std::string> methods;  // any of them; empty: every method
  std::optional<Glob> host;          // lower case
  std::vector<HeaderGlob> headers;

  [[nodiscard]] bool holds(LazyRequest& subject) const;
};

}  // namespace headgate::policy
