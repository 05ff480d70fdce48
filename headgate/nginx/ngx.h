// nginx's headers, for C++.
#pragma once

extern "C" {
#include <ngx_channel.h>
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>
}

#include <string_view>

namespace headgate::nginx {

[[nodiscard]] inline std::string_view view(const ngx_str_t& s) noexcept {
  return {reinterpret_cast<const char*>(s.data), s.len};
}

// nginx's strings are not const, but nginx does not change the bytes.
[[nodiscard]] inline ngx_str_t as_ngx_str(std::string_view s) noexcept {
  return {s.size(), reinterpret_cast<u_char*>(const_cast<char*>(s.data()))};
}

// Lets nginx drop what arrives of the body from now on, if HTTP/2 brings it. An nginx without
// HTTP/2 has no such member.
inline void skip_http2_data([[maybe_unused]] ngx_http_request_t* r) noexcept {
#if (NGX_HTTP_V2)
  if (r->stream != nullptr) r->stream->skip_data = 1;
#endif
}

// Whether the response comes from nginx's cache. An nginx without caches has no such members.
[[nodiscard]] inline bool is_cached([[maybe_unused]] const ngx_http_request_t* r) noexcept {
#if (NGX_HTTP_CACHE)
  // `cached` stays set where an error_page leads from a cached response to an upstream.
  return r->cached && r->upstream != nullptr && r->upstream->cache_status >= NGX_HTTP_CACHE_STALE;
#else
  return false;
#endif
}

// Whether it is a stream of a QUIC connection, for which nginx calls the handlers of new
// connections, too. nginx has the member since 1.25; a module that was built without QUIC may run
// in one with it.
[[nodiscard]] inline bool is_quic_stream(
    [[maybe_unused]] const ngx_connection_t* connection) noexcept {
#if (NGX_QUIC || (NGX_COMPAT && nginx_version >= 1025000))
  return connection->quic != nullptr;
#else
  return false;
#endif
}

}  // namespace headgate::nginx
