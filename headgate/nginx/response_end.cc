#include "headgate/nginx/response_end.h"

#include <fcntl.h>
#include <linux/sock_diag.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <limits>

namespace headgate::nginx {
namespace {

// net.ipv4.tcp_notsent_lowat: for TCP sockets without a TCP_NOTSENT_LOWAT of their own. 0 if it
// cannot be read.
off_t system_unsent_max = 0;

struct Rest {
  off_t bytes = 0;
  bool is_last = false;  // the response's last buffer is among them
};

void add(const ngx_chain_t* chain, Rest& rest) noexcept {
  for (const ngx_chain_t* link = chain; link != nullptr; link = link->next) {
    rest.bytes += ngx_buf_size(link->buf);
    rest.is_last = rest.is_last || link->buf->last_buf != 0;
  }
}

// Whether nginx sends only so many bytes per second. Evaluates limit_rate as nginx does before it
// sends for the first time.
bool has_limited_rate(ngx_http_request_t* r) noexcept {
  if (r->limit_rate_set) return r->limit_rate != 0;
  const auto* core =
      static_cast<ngx_http_core_loc_conf_t*>(ngx_http_get_module_loc_conf(r, ngx_http_core_module));
  return ngx_http_complex_value_size(r, core->limit_rate, 0) != 0;
}

// Returns the TCP connection to which nginx passes `bytes` more of the response at once. nullptr:
// HTTP/2's windows are smaller, or it is HTTP/3, whose windows modules cannot see (there nginx
// writes the access log before it sends what it has taken).
const ngx_connection_t* connection_for(const ngx_http_request_t* r,
                                       [[maybe_unused]] off_t bytes) noexcept {
  if (is_quic_stream(r->connection)) return nullptr;
  if (r->stream == nullptr) return r->connection;
#if (NGX_HTTP_V2)
  const ngx_http_v2_connection_t& shared = *r->stream->connection;
  const bool is_open =
      bytes <= r->stream->send_window && static_cast<std::uintmax_t>(bytes) <= shared.send_window;
  if (is_open) return shared.connection;
#endif
  return nullptr;
}

// Returns how many bytes the send buffer has room for. 0 if the system does not say so.
off_t buffer_room(ngx_socket_t socket) noexcept {
  std::array<std::uint32_t, SK_MEMINFO_VARS> memory{};
  socklen_t size = sizeof(memory);
  if (getsockopt(socket, SOL_SOCKET, SO_MEMINFO, memory.data(), &size) != 0) return 0;
  // TCP fills the one, a Unix socket the other.
  const off_t used = std::max(memory[SK_MEMINFO_WMEM_QUEUED], memory[SK_MEMINFO_WMEM_ALLOC]);
  return memory[SK_MEMINFO_SNDBUF] - used;
}

// Returns how many bytes the socket takes before those that are not sent to the other side yet are
// as many as allowed. 0 if the system does not say so.
off_t unsent_room(const ngx_connection_t& connection) noexcept {
  constexpr off_t unlimited = std::numeric_limits<std::uint32_t>::max();  // the kernel's default
  if (connection.local_sockaddr->sa_family == AF_UNIX) return unlimited;
  std::uint32_t own_max = 0;
  socklen_t size = sizeof(own_max);
  if (getsockopt(connection.fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &own_max, &size) != 0) return 0;
  const off_t unsent_max = own_max != 0 ? own_max : system_unsent_max;
  if (unsent_max == unlimited) return unlimited;
  int unsent = 0;
  if (ioctl(connection.fd, SIOCOUTQNSD, &unsent) != 0) return 0;
  return unsent_max - unsent;
}

// Whether the socket takes so many bytes although the other side reads nothing.
bool takes(const ngx_connection_t& connection, off_t bytes) noexcept {
  return bytes <= buffer_room(connection.fd) && bytes <= unsent_room(connection);
}

// Whether nothing holds so many bytes back.
bool go_out_at_once(ngx_http_request_t* r, off_t bytes) noexcept {
  if (has_limited_rate(r)) return false;
  const ngx_connection_t* connection = connection_for(r, bytes);
  return connection != nullptr && connection->write->ready && takes(*connection, bytes);
}

}  // namespace

void read_unsent_max() noexcept {
  system_unsent_max = 0;
  const int file = open("/proc/sys/net/ipv4/tcp_notsent_lowat", O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  std::array<char, 16> text{};  // "4294967295" is the longest
  const ssize_t size = std::max<ssize_t>(read(file, text.data(), text.size()), 0);
  close(file);
  std::from_chars(text.data(), text.data() + size, system_unsent_max);
}

bool ends_with_header(ngx_http_request_t* r) noexcept {
  const ngx_uint_t status = r->headers_out.status;
  const bool has_no_body = r->header_only != 0 || r->method == NGX_HTTP_HEAD ||
                           status == NGX_HTTP_NO_CONTENT || status == NGX_HTTP_NOT_MODIFIED;
  // HTTP/2's windows are for bodies alone.
  return has_no_body && go_out_at_once(r, 0);
}

bool is_ending(ngx_http_request_t* r, const RequestContext& context,
               const ngx_chain_t* in) noexcept {
  Rest rest;
  add(r->out, rest);
  add(in, rest);
  // A client that knows the length does not wait for the last buffer, which may come later.
  const off_t length = r->headers_out.content_length_n;
  const bool is_whole = length >= 0 && context.body_bytes >= static_cast<std::uint64_t>(length);
  return (is_whole || rest.is_last) && go_out_at_once(r, rest.bytes);
}

}  // namespace headgate::nginx
