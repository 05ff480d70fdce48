// Reads the target of an HTTP request line: path, query and host, in the form that policies match.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace headgate::policy {

// Views into the raw target or into the buffer of read_request_target().
struct RequestTarget {
  std::string_view path;   // decoded and normalised; starts with '/'
  std::string_view query;  // raw, without '?'
  std::string_view host;   // of an absolute target, without port; otherwise empty
};

// Reads "/a/./b%20c?x=1" or "http://host/a" as nginx does: decodes %XX, merges repeated slashes,
// resolves "." and "..", and drops a fragment. Returns std::nullopt where nginx responds 400: if
// the target begins otherwise, has a '%' without two hex digits or %00, or climbs above the root
// with
// "..". Linear; allocates only if `buffer` must grow.
[[nodiscard]] std::optional<RequestTarget> read_request_target(std::string_view raw,
                                                               std::string& buffer);

}  // namespace headgate::policy
