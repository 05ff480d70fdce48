// Compares a given text with a secret.
#pragma once

#include <string_view>

namespace headgate::net {

// Takes a time that depends on the lengths only, so that it does not reveal how many bytes are
// right.
[[nodiscard]] inline bool same_secret(std::string_view given, std::string_view secret) noexcept {
  if (given.size() != secret.size()) return false;
  unsigned char different = 0;
  for (std::size_t i = 0; i < secret.size(); ++i) {
    different = static_cast<unsigned char>(different | (given[i] ^ secret[i]));
  }
  return different == 0;
}

}  // namespace headgate::net
