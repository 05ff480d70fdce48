#include "headgate/nginx/connections.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "headgate/base/siphash.h"
#include "headgate/nginx/interval.h"
#include "headgate/nginx/nginx_request.h"

namespace headgate::nginx {
namespace {

// A number for each client, whose hash is the index: fixed memory, however many clients there are.
// Clients with the same index share its number; 16 times as many indices as usual workers have
// connections make that rare.
using Numbers = std::array<std::uint32_t, 1 << 16>;
Numbers open_connections;
Numbers open_streams;  // requests in progress over HTTP/2 and HTTP/3

// A client with one connection may use it fully: nginx lets it have so many streams, by default.
constexpr std::uint32_t streams_min = 128;

Interval between_reports(10'000);  // of refusals
ngx_uint_t unreported = 0;

// Of the configuration that this process serves; null if there is no bound. The master sets it
// before it forks the workers of a configuration.
const MainConf* serving = nullptr;

extern "C" void count_down(void* number) noexcept { --*static_cast<std::uint32_t*>(number); }

// The client's number. nullptr if it is not bounded: a proxy has the connections of many clients,
// and the peer of a Unix socket has no address.
std::uint32_t* number_of(const ngx_connection_t* connection, Numbers& numbers) noexcept {
  const auto peer = peer_of(connection);
  if (!peer) return nullptr;
  const policy::ClientAddress& settings = serving->policies->settings().client_address;
  const auto is_peer = [&](const auto& block) { return block.contains(*peer); };
  if (std::ranges::any_of(settings.trusted_proxies, is_peer)) return nullptr;
  const auto client = peer->masked(peer->is_v4() ? peer->bits() : settings.ipv6_prefix);
  const auto& bytes = client.bytes();
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::uint64_t hash = public_hash(serving->table->secret(), text).lo;
  return &numbers[hash % numbers.size()];
}

// Counts and logs that a connection, or a request on it, is refused.
void report(const ngx_connection_t* connection) noexcept {
  serving->counters->module().refused_connections.fetch_add(1, std::memory_order_relaxed);
  ++unreported;
  if (!between_reports.restart_if_over()) return;
  ngx_log_error(NGX_LOG_ERR, connection->log, 0,
                "headgate: refused because one address has too many connections: %ui, the last one "
                "from %V",
                std::exchange(unreported, 0), &connection->addr_text);
}

// Counts one more in `number`, which may be null, until the pool ends. Returns false if there are
// as many as there may be, or if memory runs out.
bool count(std::uint32_t* number, std::uint32_t most, ngx_pool_t* pool,
           const ngx_connection_t* connection) noexcept {
  if (number == nullptr) return true;
  ngx_pool_cleanup_t* const end = *number < most ? ngx_pool_cleanup_add(pool, 0) : nullptr;
  if (end == nullptr) {
    report(connection);
    return false;
  }
  ++*number;
  end->handler = count_down;
  end->data = number;
  return true;
}

extern "C" void init_connection(ngx_connection_t* connection) noexcept {
  const bool is_admitted = is_quic_stream(connection) ||
                           count(number_of(connection, open_connections),
                                 *serving->connections_per_address, connection->pool, connection);
  return is_admitted ? ngx_http_init_connection(connection) : ngx_http_close_connection(connection);
}

}  // namespace

bool count_stream(ngx_http_request_t* r) noexcept {
  if (serving == nullptr || r->http_version < NGX_HTTP_VERSION_20 || r->internal) return true;
  return count(number_of(r->connection, open_streams),
               std::max(*serving->connections_per_address, streams_min), r->pool, r->connection);
}

void bound_connections(ngx_cycle_t* cycle, const MainConf& conf) noexcept {
  serving = nullptr;
  if (conf.in_force == nullptr || conf.connections_per_address.value_or(0) == 0) return;
  serving = &conf;
  auto* listening = static_cast<ngx_listening_t*>(cycle->listening.elts);
  for (ngx_uint_t i = 0; i < cycle->listening.nelts; ++i) {
    if (listening[i].handler == ngx_http_init_connection) listening[i].handler = init_connection;
  }
}

}  // namespace headgate::nginx
