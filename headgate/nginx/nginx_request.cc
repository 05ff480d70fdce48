#include "headgate/nginx/nginx_request.h"

#include <algorithm>
#include <cstring>

#include "headgate/policy/match/request_target.h"
#include "headgate/policy/text.h"

namespace headgate::nginx {
namespace {

// The host, without port, of an absolute request target, or else that of Host or :authority.
// nginx's own view ends at the first colon, also if that is one of "user:password@host".
std::string_view named_host(const ngx_http_request_t* r) noexcept {
  ngx_str_t named = r->headers_in.server;
  if (r->host_start != nullptr && r->host_end != nullptr) {
    named = {static_cast<std::size_t>(r->host_end - r->host_start), r->host_start};
  } else if (r->headers_in.host != nullptr) {
    named = r->headers_in.host->value;
  }
  return policy::without_port(view(named));
}

// What nginx' $host is if a request of HTTP/1.0 names none.
std::string_view host_of_server(ngx_http_request_t* r) noexcept {
  const auto* const server = static_cast<const ngx_http_core_srv_conf_t*>(
      ngx_http_get_module_srv_conf(r, ngx_http_core_module));
  return view(server->server_name);
}

// The method of the request line, as the client sent it: nginx makes it GET when it redirects.
// Empty if the line is malformed.
std::string_view sent_method(const ngx_http_request_t* r) noexcept {
  // nginx composes a line for HTTP/2. One without an end is malformed, and there for the log.
  const bool is_whole = r->request_end != nullptr || r->http_version >= NGX_HTTP_VERSION_20;
  const std::string_view line = view(r->request_line);
  const std::size_t end = line.find(' ');
  if (is_whole && end != std::string_view::npos) return line.substr(0, end);
  return r->internal ? std::string_view() : view(r->method_name);
}

}  // namespace

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
  // A caller that reads all lines asks for one after the other: continue behind the last one.
  const bool continues = nth > 0 && last_.found == nth && last_.name == name;
  Position at = continues ? last_ : Position{name, &lines_->part, 0, 0};
  for (; at.part != nullptr; at.part = at.part->next, at.index = 0) {
    const auto* fields = static_cast<const ngx_table_elt_t*>(at.part->elts);
    while (at.index < at.part->nelts) {
      const ngx_table_elt_t& field = fields[at.index++];
      if (field.key.len != name.size()) continue;
      if (std::memcmp(field.lowcase_key, name.data(), name.size()) != 0) continue;
      if (at.found++ != nth) continue;
      last_ = at;
      return view(field.value);
    }
  }
  return std::nullopt;
}

bool join_lines(ngx_pool_t* pool, const policy::Headers& headers, std::string_view name,
                std::string_view& value) noexcept {
  constexpr std::string_view comma = ", ";
  std::size_t lines = 0;
  std::size_t size = 0;
  for (std::size_t nth = 0; const auto line = headers.value(name, nth); ++nth) {
    if (line->empty()) continue;
    value = *line;
    size += line->size() + (lines++ > 0 ? comma.size() : 0);
  }
  if (lines <= 1) return true;
  auto* const joined = static_cast<char*>(ngx_pnalloc(pool, size));
  if (joined == nullptr) return false;
  char* end = joined;
  for (std::size_t nth = 0; const auto line = headers.value(name, nth); ++nth) {
    if (line->empty()) continue;
    if (end != joined) end = std::copy(comma.begin(), comma.end(), end);
    end = std::copy(line->begin(), line->end(), end);
  }
  value = {joined, size};
  return true;
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
  return static_cast<std::uint64_t>(r->request_body->received);  // HTTP/2, or given up
}

void give_up_body(ngx_http_request_t* r) noexcept {
  ngx_http_request_body_t& body = *r->request_body;
  body.received = std::max(body.received, r->headers_in.content_length_n);  // HTTP/1 counts there
  body.bufs = nullptr;
  body.temp_file = nullptr;  // the request's pool removes it
  r->headers_in.content_length_n = -1;
  r->headers_in.chunked = 0;
  skip_http2_data(r);
  r->keepalive = 0;
  r->lingering_close = 1;
}

bool gave_up_body(const ngx_http_request_t* r) noexcept {
  // Of every other request that has sent a body, nginx has a length, or the mark `chunked`.
  return r->request_body != nullptr && r->request_body->received > 0 &&
         r->headers_in.content_length_n < 0 && r->headers_in.chunked == 0;
}

bool is_unambiguous(const ngx_http_request_t* r) noexcept {
  return policy::is_host(named_host(r)) &&
         view(r->unparsed_uri).find('#') == std::string_view::npos;
}

policy::Request client_request(ngx_http_request_t* r, const NginxHeaders& headers) noexcept {
  policy::Request request;
  request.method = sent_method(r);
  const std::string_view named = named_host(r);
  const std::string_view host = named.empty() ? host_of_server(r) : named;
  if (policy::is_host(host)) request.host = host;
  request.peer = peer_of(r->connection);
  request.headers = &headers;
  request.body_bytes = body_bytes(r);
  if (r->unparsed_uri.len == 0) return request;
  const policy::PathAndQuery parts = policy::split_path_and_query(view(r->unparsed_uri));
  request.path = parts.path;
  request.query = parts.query;
  return request;
}

}  // namespace headgate::nginx
