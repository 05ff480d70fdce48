#include "headgate/server/envoy/grpc_status.h"

#include "headgate/base/hex.h"

namespace headgate::server {

std::string percent_encoded(std::string_view text) {
  std::string encoded;
  encoded.reserve(text.size());
  Appender appender{encoded};
  for (const char c : text) {
    if (c >= ' ' && c <= '~' && c != '%') {
      encoded += c;
    } else {
      encoded += '%';
      put_hex(appender, c, upper_hex);
    }
  }
  return encoded;
}

}  // namespace headgate::server
