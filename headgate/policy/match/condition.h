// A condition on requests: one entry of a policy's `match`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headgate/policy/match/glob.h"
#include "headgate/policy/match/lazy_request.h"
#include "headgate/policy/match/path.h"

namespace headgate::policy {

// Holds if all of its parts hold. An absent part always holds.
struct Condition {
  struct HeaderGlob {
    std::string name;  // lower case
    Glob value;        // holds if any line with that name matches; without such a line, it does not
  };

  std::optional<PathPattern> path;   // holds if any reading of the path matches
  std::optional<Glob> exact_path;    // the path as the client sent it, byte by byte
  std::vector<std::string> methods;  // holds for any of them; empty: for every method
  std::optional<Glob> host;          // lower case
  std::vector<HeaderGlob> headers;

  [[nodiscard]] bool holds(LazyRequest& request) const;
};

}  // namespace headgate::policy
