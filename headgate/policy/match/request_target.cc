#include "headgate/policy/match/request_target.h"

#include "headgate/policy/text.h"

namespace headgate::policy {
namespace {

// Whether decode() and resolve() would not change the path. May return false for some such paths.
bool is_normal(std::string_view path) noexcept {
  char last = '\0';
  for (const char c : path) {
    if (c == '%' || c == '\0' || (last == '/' && (c == '/' || c == '.'))) return false;
    last = c;
  }
  return true;
}

// Appends the decoded path. Returns false for a '%' without two hex digits, and for a null byte.
bool decode(std::string_view raw, std::string& out) {
  for (std::size_t i = 0; i < raw.size(); ++i) {
    char c = raw[i];
    if (c == '%') {
      if (raw.size() - i < 3) return false;
      const int high = hex_value(raw[i + 1]);
      const int low = hex_value(raw[i + 2]);
      if (high < 0 || low < 0) return false;
      c = static_cast<char>(high << 4 | low);
      i += 2;
    }
    if (c == '\0') return false;
    out.push_back(c);
  }
  return true;
}

// Resolves "//", "." and ".." of a decoded path that starts with '/', in place. Returns false if
// the path climbs above the root.
bool resolve(std::string& path) {
  std::size_t end = 1;  // of the resolved part, which ends with a slash
  for (std::size_t at = 1; at <= path.size();) {
    const std::size_t slash = std::min(path.find('/', at), path.size());
    const std::string_view segment = std::string_view(path).substr(at, slash - at);
    const bool last = slash == path.size();
    if (segment == "..") {
      if (end == 1) return false;
      end = path.rfind('/', end - 2) + 1;
    } else if (!segment.empty() && segment != ".") {
      path.replace(end, segment.size(), path, at, segment.size());
      end += segment.size();
      if (!last) path[end++] = '/';
    }
    at = slash + 1;
  }
  path.resize(end);
  return true;
}

}  // namespace

std::optional<RequestTarget> read_request_target(std::string_view raw, std::string& buffer) {
  RequestTarget target;
  raw = raw.substr(0, raw.find('#'));
  if (!raw.starts_with('/')) {
    const std::size_t scheme = raw.find("://");
    if (scheme == std::string_view::npos || !is_token(raw.substr(0, scheme))) return std::nullopt;
    raw.remove_prefix(scheme + 3);
    const std::size_t end = std::min(raw.find_first_of("/?"), raw.size());
    target.host = raw.substr(0, end);
    const std::size_t colon = target.host.rfind(':');
    if (colon != std::string_view::npos && target.host.find(']', colon) == std::string_view::npos) {
      target.host = target.host.substr(0, colon);
    }
    if (target.host.empty()) return std::nullopt;
    raw.remove_prefix(end);
  }
  const std::size_t question = raw.find('?');
  if (question != std::string_view::npos) target.query = raw.substr(question + 1);
  target.path = raw.substr(0, question);
  if (target.path.empty()) {
    target.path = "/";
    return target;
  }
  if (is_normal(target.path)) return target;
  buffer.clear();
  if (!decode(target.path, buffer) || !resolve(buffer)) return std::nullopt;
  target.path = buffer;
  return target;
}

}  // namespace headgate::policy
