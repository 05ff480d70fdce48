// An nginx request, as policies see it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "headgate/nginx/ngx.h"
#include "headgate/policy/request.h"

namespace headgate::nginx {

// A header section, of the client's or the upstream's. A view of it.
class NginxHeaders final : public policy::Headers {
 public:
  explicit NginxHeaders(const ngx_list_t& lines) noexcept : lines_(&lines) {}

  [[nodiscard]] std::optional<std::string_view> line(std::string_view name,
                                                     std::size_t nth) const noexcept override;

 private:
  const ngx_list_t* lines_;
};

// Bytes of the request's body: as announced, or as read. std::nullopt: neither.
[[nodiscard]] std::optional<std::uint64_t> body_bytes(const ngx_http_request_t* r) noexcept;

// What the client asked for: path and query are those of its own request line, normalised,
// whatever rewrites and internal redirects made of them since. Both are empty if nginx could not
// make them out. Views of the request and of its pool; `headers` must outlive the result.
[[nodiscard]] policy::Request client_request(ngx_http_request_t* r,
                                             const NginxHeaders& headers) noexcept;

}  // namespace headgate::nginx
