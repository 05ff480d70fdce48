// An nginx request in the form that policies use.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "headgate/nginx/ngx.h"
#include "headgate/policy/request.h"

namespace headgate::nginx {

// A view of a header section: the request's, or that of the upstream's response.
class NginxHeaders final : public policy::Headers {
 public:
  explicit NginxHeaders(const ngx_list_t& lines) noexcept : lines_(&lines) {}

  [[nodiscard]] std::optional<std::string_view> line(std::string_view name,
                                                     std::size_t nth) const noexcept override;

 private:
  const ngx_list_t* lines_;
};

// Returns the address at the other end of a connection; std::nullopt for a Unix socket.
[[nodiscard]] std::optional<policy::Address> peer_of(const ngx_connection_t* connection) noexcept;

// Returns the length of the request's body: as announced, or as read. std::nullopt if it is
// unknown.
[[nodiscard]] std::optional<std::uint64_t> body_bytes(const ngx_http_request_t* r) noexcept;

// Returns the request as the client sent it: path and query are those of its request line,
// normalised, without the changes of rewrites and internal redirects. Both are empty if nginx could
// not parse them. Views of the request and of its pool; `headers` must outlive the result.
[[nodiscard]] policy::Request client_request(ngx_http_request_t* r,
                                             const NginxHeaders& headers) noexcept;

}  // namespace headgate::nginx
