#include "headgate/policy/match/request_target.h"

#include <algorithm>

#include "headgate/policy/match/decode.h"
#include "headgate/policy/text.h"

namespace headgate::policy {
namespace {

// Whether nginx accepts a path, which starts with '/'.
bool is_well_formed(std::string_view path) noexcept {
  std::size_t depth = 0;  // segments below the root
  while (!path.empty()) {
    // One segment, which follows its slash.
    std::size_t length = 0;
    std::size_t dots = 0;
    static_cast<void>(take_percent_decoded(path));
    for (; !path.empty(); ++length) {
      std::string_view rest = path;
      const char c = take_percent_decoded(rest);
      if (c == '\0' || (path[0] == '%' && path.size() - rest.size() == 1)) return false;
      if (c == '/') break;
      dots += c == '.' ? 1 : 0;
      path = rest;
    }
    if (length == 2 && dots == 2) {
      if (depth == 0) return false;
      --depth;
    } else if (length > 0 && !(length == 1 && dots == 1)) {
      ++depth;
    }
  }
  return true;
}

}  // namespace

PathAndQuery split_path_and_query(std::string_view target) noexcept {
  const std::size_t question = target.find('?');
  const std::string_view path = target.substr(0, question);
  return {path.empty() ? "/" : path, question == target.npos ? "" : target.substr(question + 1)};
}

std::optional<RequestTarget> read_request_target(std::string_view raw) noexcept {
  std::string_view host;
  if (!raw.starts_with('/')) {
    const std::size_t scheme = raw.find("://");
    if (scheme == std::string_view::npos || !is_token(raw.substr(0, scheme))) return std::nullopt;
    raw.remove_prefix(scheme + 3);
    const std::size_t end = std::min(raw.find_first_of("/?#"), raw.size());
    host = without_port(raw.substr(0, end));
    if (host.empty()) return std::nullopt;
    raw.remove_prefix(end);
  }
  const bool has_fragment = raw.find('#') != raw.npos;
  if (raw.starts_with('#')) raw = {};  // right behind the host: there is no path
  const PathAndQuery parts = split_path_and_query(raw);
  return RequestTarget{parts, host, !has_fragment && is_well_formed(parts.path)};
}

}  // namespace headgate::policy
