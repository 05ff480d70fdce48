#include "headgate/nginx/nginx_request.h"

#include <cstring>

namespace headgate::nginx {

std::optional<policy::Address> peer_of(const ngx_connection_t* connection) noexcept {
  const sockaddr* any = connection->sockaddr;
  if (any->sa_family == AF_INET) {
    std::uint8_t bytes[4];
    std::memcpy(bytes, &reinterpret_cast<const sockaddr_in*>(any)->sin_addr, sizeof bytes);
    return policy::Address::from_v4(bytes);
  }
  if (any->sa_family == AF_INET6) {
    std::uint8_t bytes[16];
    std::memcpy(bytes, &reinterpret_cast<const sockaddr_in6*>(any)->sin6_addr, sizeof bytes);
    return policy::Address::from_v6(bytes);
  }
  return std::nullopt;
}

std::optional<std::string_view> NginxHeaders::line(std::string_view name,
                                                   std::size_t nth) const noexcept {
  for (const ngx_list_part_t* part = &lines_->part; part != nullptr; part = part->next) {
    const auto* field = static_cast<const ngx_table_elt_t*>(part->elts);
    for (ngx_uint_t i = 0; i < part->nelts; ++i, ++field) {
      if (field->key.len != name.size()) continue;
      if (std::memcmp(field->lowcase_key, name.data(), name.size()) != 0) continue;
      if (nth-- == 0) return view(field->value);
    }
  }
  return std::nullopt;
}

std::optional<std::uint64_t> body_bytes(const ngx_http_request_t* r) noexcept {
  if (r->headers_in.content_length_n >= 0) {
    return static_cast<std::uint64_t>(r->headers_in.content_length_n);
  }
  if (r->request_body == nullptr) {
    // Without a length, HTTP/1 has a body only if it is chunked; HTTP/2 may have one at any time.
    if (r->headers_in.chunked || r->stream != nullptr) return std::nullopt;
    return 0;
  }
  return static_cast<std::uint64_t>(r->request_body->received);  // HTTP/2
}

policy::Request client_request(ngx_http_request_t* r, const NginxHeaders& headers) noexcept {
  policy::Request request;
  request.method = view(r->method_name);
  request.host = view(r->headers_in.server);
  request.peer = peer_of(r->connection);
  request.headers = &headers;
  request.body_bytes = body_bytes(r);
  if (r->valid_unparsed_uri) {
    request.path = view(r->uri);
    request.query = view(r->args);
    return request;
  }
  // Rewritten or redirected: parse the request line again, into a copy.
  if (r->unparsed_uri.len == 0) return request;
  ngx_http_request_t original = *r;
  ngx_str_null(&original.args);
  if (ngx_http_process_request_uri(&original) != NGX_OK) return request;  // no memory
  request.path = view(original.uri);
  request.query = view(original.args);
  return request;
}

}  // namespace headgate::nginx
