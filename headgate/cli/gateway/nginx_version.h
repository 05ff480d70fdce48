// The version of an installed nginx.
#pragma once

#include <compare>
#include <string>
#include <string_view>

namespace headgate::cli {

struct NginxVersion {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned patch = 0;
  friend auto operator<=>(const NginxVersion&, const NginxVersion&) = default;
};

// Reads the number in "nginx version: nginx/1.22.1 (Debian)". Returns 0.0.0 if there is none.
[[nodiscard]] NginxVersion parse_nginx_version(std::string_view text) noexcept;

// Runs `nginx -v`. Returns 0.0.0 if it says nothing.
[[nodiscard]] NginxVersion nginx_version(const std::string& nginx);

}  // namespace headgate::cli
