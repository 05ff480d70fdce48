// The URLs that `headgate fetch` fetches.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "headgate/base/result.h"

namespace headgate::cli {

struct FetchUrl {
  std::string text;    // in canonical form, without a fragment
  std::string origin;  // "https://api.example:8443": each has its own rate limits
};

// Far more than servers accept (8 KiB is usual); bounds what one line of a list can cost.
inline constexpr std::size_t fetch_url_bytes_max = 65'536;

// Parses http:// or https:// with a host. The error says what is wrong and what was expected.
[[nodiscard]] Result<FetchUrl, std::string> parse_fetch_url(std::string_view url);

// Returns the target of a redirect: `location` relative to `base`.
[[nodiscard]] Result<FetchUrl, std::string> resolve_fetch_url(const std::string& base,
                                                              std::string_view location);

// For messages: without user name and password, and safe for a terminal.
[[nodiscard]] std::string shown(const FetchUrl& url);

}  // namespace headgate::cli
