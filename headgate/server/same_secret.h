// Comparing what a caller shows with a secret.
#pragma once

#include <string_view>

namespace headgate::server {

// In a time that does not tell how much of it is right.
[[nodiscard]] inline bool same_secret(std::string_view shown, std::string_view secret) noexcept {
  if (shown.size() != secret.size()) return false;
  unsigned char different = 0;
  for (std::size_t i = 0; i < secret.size(); ++i) {
    different = static_cast<unsigned char>(different | (shown[i] ^ secret[i]));
  }
  return different == 0;
}

}  // namespace headgate::server
