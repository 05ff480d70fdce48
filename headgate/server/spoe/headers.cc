#include "headgate/server/spoe/headers.h"

#include "headgate/base/ascii.h"
#include "headgate/net/spoe_data.h"

namespace headgate::server {

std::optional<SpoeHeaders> SpoeHeaders::read(std::string_view bytes) noexcept {
  for (net::SpoeCursor cursor(bytes);;) {
    const std::size_t left = cursor.rest().size();
    const auto name = cursor.text();
    const auto value = name ? cursor.text() : std::nullopt;
    if (!value) return std::nullopt;
    if (!name->empty()) continue;
    if (!value->empty() || !cursor.at_end()) return std::nullopt;
    return SpoeHeaders(bytes.substr(0, bytes.size() - left));
  }
}

std::optional<std::string_view> SpoeHeaders::line(std::string_view name,
                                                  std::size_t nth) const noexcept {
  // A caller that reads all lines asks for one after the other: continue behind the last one.
  const bool continues = nth > 0 && last_.found == nth && equal_ignoring_case(last_.name, name);
  Position at = continues ? last_ : Position{{}, lines_, 0};
  for (net::SpoeCursor cursor(at.rest); !cursor.at_end();) {
    const auto its_name = cursor.text();
    const auto value = cursor.text();
    if (!equal_ignoring_case(*its_name, name) || at.found++ != nth) continue;
    last_ = {*its_name, cursor.rest(), at.found};
    return value;
  }
  return std::nullopt;
}

}  // namespace headgate::server
