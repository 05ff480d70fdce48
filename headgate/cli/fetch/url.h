// URLs of things to fetch.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "headgate/base/result.h"

namespace headgate::cli {

struct FetchUrl {
  std::string text;    // in canonical form, without a fragment
  std::string origin;  // "https://api.example:8443": what has limits of its own
};

inline constexpr std::size_t fetch_url_bytes_max = 65'536;

// http:// or https:// and a host. The error says what is wrong and what was expected.
[[nodiscard]] Result<FetchUrl, std::string> parse_fetch_url(std::string_view url);

// Where a redirect leads: `location` relative to `base`.
[[nodiscard]] Result<FetchUrl, std::string> resolve_fetch_url(const std::string& base,
                                                              std::string_view location);

// For messages: without a user's name and password, and safe for a terminal.
[[nodiscard]] std::string shown(const FetchUrl& url);

}  // namespace headgate::cli
