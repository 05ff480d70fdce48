#include "headgate/server/source.h"

#include <string_view>

#include "headgate/server/peer.h"

namespace headgate::server {

Source source_of(int fd, const HashSecret& secret) noexcept {
  const auto peer = peer_of(fd);
  if (!peer) return 0;
  const policy::Address network = peer->masked(peer->is_v4() ? 32 : 64);
  const auto& bytes = network.bytes();
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return static_cast<Source>(siphash64<1, 3>(secret, text) % source_count);
}

}  // namespace headgate::server
