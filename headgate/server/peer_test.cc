#include "headgate/server/peer.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace headgate::server {
namespace {

TEST(Peer, OfATcpConnectionIsItsAddressAlsoInWords) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(bind(listener, any, size), 0);
  ASSERT_EQ(listen(listener, 1), 0);
  ASSERT_EQ(getsockname(listener, any, &size), 0);
  const int client = socket(AF_INET, SOCK_STREAM, 0);
  ASSERT_EQ(connect(client, any, size), 0);
  const int server = accept(listener, nullptr, nullptr);
  EXPECT_EQ(peer_text(server), "127.0.0.1");

  const linger at_once{.l_onoff = 1, .l_linger = 0};  // close() resets the connection
  setsockopt(client, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  close(client);
  pollfd reset{server, POLLIN, 0};
  ASSERT_EQ(poll(&reset, 1, 10'000), 1);
  EXPECT_FALSE(peer_of(server));
  EXPECT_EQ(peer_text(server), "a TCP client that has gone");
  close(server);
  close(listener);
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
