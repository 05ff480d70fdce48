// Reads the target of an HTTP request line: path, query and host.
#pragma once

#include <optional>
#include <string_view>

namespace headgate::policy {

struct PathAndQuery {
  std::string_view path;   // as received; "/" if there is none
  std::string_view query;  // as received, without '?'
};

// Splits "/a?x=1". Returns views into it. A target has no fragment (RFC 9112, section 3.2); some
// upstreams cut it off at a '#', others do not, so a '#' stays.
[[nodiscard]] PathAndQuery split_path_and_query(std::string_view target) noexcept;

// Views into the raw target.
struct RequestTarget : PathAndQuery {
  std::string_view host;    // of an absolute target, without port; otherwise empty
  bool well_formed = true;  // false: nginx, or headgate in it, refuses the target with 400. It
                            // has a '#', or its path has a '%' without two hex digits or
                            // %00, or climbs above the root with ".."
};

// Reads "/a/./b%20c?x=1" or "http://host/a". Returns std::nullopt if the
// target begins otherwise. Linear.
[[nodiscard]] std::optional<RequestTarget> read_request_target(std::string_view raw) noexcept;

}  // namespace headgate::policy
