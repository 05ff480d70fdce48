// The target of a request line, as policies see it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace headgate::policy {

// Views into the target itself or the buffer that it was read with.
struct RequestTarget {
  std::string_view path;   // decoded and normalised; starts with '/'
  std::string_view query;  // raw, without '?'
  std::string_view host;   // of an absolute target, without port; otherwise empty
};

// Reads "/a/./b%20c?x=1" or "http://host/a" as nginx does: %XX is decoded, several slashes are one,
// "." and ".." are resolved, and a fragment is dropped. std::nullopt where nginx would answer 400:
// another beginning, a '%' without two hex digits, %00, or a path that climbs above the root.
// Linear; allocates only to let `buffer` grow.
[[nodiscard]] std::optional<RequestTarget> read_request_target(std::string_view raw,
                                                               std::string& buffer);

}  // namespace headgate::policy
