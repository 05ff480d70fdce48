#include "headgate/server/envoy/grpc_status.h"

namespace headgate::server {

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string encoded;
  encoded.reserve(text.size());
  for (const char c : text) {
    if (c >= ' ' && c <= '~' && c != '%') {
      encoded += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      encoded += '%';
      encoded += digits[byte / 16];
      encoded += digits[byte % 16];
    }
  }
  return encoded;
}

}  // namespace headgate::server
