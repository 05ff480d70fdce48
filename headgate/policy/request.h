// What a policy may ask about a request and its response. Views: nothing here owns or outlives the
// door's request.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "headgate/policy/address/address.h"

namespace headgate::policy {

// Header look-up, implemented by each door over its own request.
class Headers {
 public:
  // The value of the nth (from 0) field line with this name, or std::nullopt. `name` is in lower
  // case; the door compares without regard to case. Bytes as received, without outer white space.
  [[nodiscard]] virtual std::optional<std::string_view> line(std::string_view name,
                                                             std::size_t nth) const noexcept = 0;

 protected:
  ~Headers() = default;
};

struct Request {
  std::string_view method;                  // as received
  std::string_view host;                    // without port
  std::string_view path;                    // decoded and normalised by the door, without query
  std::string_view query;                   // raw, without '?'
  std::optional<Address> peer;              // std::nullopt: a Unix socket
  const Headers* headers = nullptr;         // never null when a policy is asked
  std::optional<std::uint64_t> body_bytes;  // of the request; std::nullopt: not known
};

// A response that has ended, be it as it should or because somebody broke off.
struct Response {
  unsigned status = 0;               // 0: none was sent
  std::uint64_t body_bytes = 0;      // of its content, as far as it was sent and as it was sent
                                     // (compressed, say), without header section and framing
  const Headers* headers = nullptr;  // what upstream answered; nullptr: it did not
};

}  // namespace headgate::policy
