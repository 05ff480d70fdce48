// An nginx request in the form that policies use.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "headgate/nginx/ngx.h"
#include "headgate/policy/request.h"

namespace headgate::nginx {

// A view of a header section: the request's, or that of the upstream's response. Not thread-safe.
class NginxHeaders final : public policy::Headers {
 public:
  explicit NginxHeaders(const ngx_list_t& lines) noexcept : lines_(&lines) {}

  // Takes constant time on average if all lines of a name are read in their order.
  [[nodiscard]] std::optional<std::string_view> line(std::string_view name,
                                                     std::size_t nth) const noexcept override;

 private:
  struct Position {
    std::string_view name;
    const ngx_list_part_t* part = nullptr;
    ngx_uint_t index = 0;   // in the part, of the first field that was not read
    std::size_t found = 0;  // lines with that name before it
  };

  const ngx_list_t* lines_;
  mutable Position last_;  // behind the line that was returned last
};

// Returns the address at the other end of a connection; std::nullopt for a Unix socket.
[[nodiscard]] std::optional<policy::Address> peer_of(const ngx_connection_t* connection) noexcept;

// Sets `value` to the lines of a header, joined with ", ", without the white space around them and
// without empty lines. It has memory of the pool or of the header section, and is empty if there is
// no such header. Returns false if the pool has no memory.
[[nodiscard]] bool join_lines(ngx_pool_t* pool, const policy::Headers& headers,
                              std::string_view name, std::string_view& value) noexcept;

// Returns the length of the request's body: as announced, or as read. std::nullopt if it is
// unknown.
[[nodiscard]] std::optional<std::uint64_t> body_bytes(const ngx_http_request_t* r) noexcept;

// Ends the reading of a body in its middle. From here on the request has no body and no length, so
// that no location and no upstream that it still gets to takes the part that was read for a whole.
// body_bytes() keeps returning the length of that part. Its connection is closed after the
// response. REQUIRES: nginx is reading a body whose length was not announced.
void give_up_body(ngx_http_request_t* r) noexcept;

// Returns whether that was done.
[[nodiscard]] bool gave_up_body(const ngx_http_request_t* r) noexcept;

// Returns whether upstreams read one host and one path in the request: the client named a host that
// policy::is_host() accepts, or none, and no target with a '#', which nginx passes on.
[[nodiscard]] bool is_unambiguous(const ngx_http_request_t* r) noexcept;

// Returns the request as the client sent it: method, path and query are those of its request line,
// without the changes of rewrites and internal redirects. They are empty if nginx could not parse
// them. So is a malformed host, which no upstream gets to see, but that of an error_page. Without a
// host, it is that of the server, as in nginx' $host.
// Consists of views of the request; `headers` must outlive the result.
[[nodiscard]] policy::Request client_request(ngx_http_request_t* r,
                                             const NginxHeaders& headers) noexcept;

}  // namespace headgate::nginx
