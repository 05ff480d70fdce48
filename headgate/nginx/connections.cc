#include "headgate/nginx/connections.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "headgate/base/siphash.h"
#include "headgate/nginx/nginx_request.h"

namespace headgate::nginx {
namespace {

// Open connections of the clients whose hash is the index: fixed memory, however many clients there
// are. Clients with the same index share its number; 16 times as many indices as usual workers have
// connections make that rare.
std::array<std::uint32_t, 1 << 16> open_connections;

// Of the configuration that this process serves; null if there is no bound. The master sets it
// before it forks the workers of a configuration.
const MainConf* serving = nullptr;

extern "C" void on_close(void* count) noexcept { --*static_cast<std::uint32_t*>(count); }

// The number of the client's connections. nullptr if it is not bounded: a proxy has the connections
// of many clients, and the peer of a Unix socket has no address.
std::uint32_t* count_of(const ngx_connection_t* connection) noexcept {
  const auto peer = peer_of(connection);
  if (!peer) return nullptr;
  const policy::ClientAddress& settings = serving->policies->settings().client_address;
  const auto is_peer = [&](const auto& block) { return block.contains(*peer); };
  if (std::ranges::any_of(settings.trusted_proxies, is_peer)) return nullptr;
  const auto client = peer->masked(peer->is_v4() ? peer->bits() : settings.ipv6_prefix);
  const auto& bytes = client.bytes();
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::uint64_t hash = public_hash(serving->table->secret(), text).lo;
  return &open_connections[hash % open_connections.size()];
}

extern "C" void init_connection(ngx_connection_t* connection) noexcept {
  std::uint32_t* const count = is_quic_stream(connection) ? nullptr : count_of(connection);
  if (count == nullptr) return ngx_http_init_connection(connection);
  ngx_pool_cleanup_t* closing = nullptr;
  if (*count < *serving->connections_per_address) {
    closing = ngx_pool_cleanup_add(connection->pool, 0);  // nullptr: out of memory
  }
  if (closing == nullptr) {
    serving->counters->module().refused_connections.fetch_add(1, std::memory_order_relaxed);
    return ngx_http_close_connection(connection);
  }
  ++*count;
  closing->handler = on_close;
  closing->data = count;
  ngx_http_init_connection(connection);
}

}  // namespace

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
