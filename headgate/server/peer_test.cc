#include "headgate/server/peer.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "headgate/server/testing/tcp_pair.h"

namespace headgate::server {
namespace {

TEST(Peer, OfATcpConnectionIsItsAddressAlsoInWords) {
  const TcpPair ends = connect_tcp();
  EXPECT_EQ(peer_text(ends.server), "127.0.0.1");
  reset_by_client(ends);
  EXPECT_FALSE(peer_of(ends.server));
  EXPECT_EQ(peer_text(ends.server), "a TCP client that has gone");
  close(ends.server);
}

TEST(Peer, OfAUnixSocketHasNoAddress) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  EXPECT_FALSE(peer_of(ends[0]));
  EXPECT_EQ(peer_text(ends[0]), "a Unix socket");
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace headgate::server
