// The token in a field Authorization.
#pragma once

#include <optional>
#include <string_view>

#include "headgate/base/ascii.h"

namespace headgate::net {

// Returns the token of `Bearer TOKEN` (RFC 6750, section 2.1), the scheme in any case (RFC 9110,
// section 11.1), or std::nullopt if the scheme is another one.
[[nodiscard]] constexpr std::optional<std::string_view> bearer_token(
    std::string_view authorization) noexcept {
  constexpr std::string_view scheme = "bearer ";
  if (!equal_ignoring_case(authorization.substr(0, scheme.size()), scheme)) return std::nullopt;
  return trimmed(authorization.substr(scheme.size()));
}

}  // namespace headgate::net
