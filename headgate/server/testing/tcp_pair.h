// Both ends of a TCP connection on loopback: for tests.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace headgate::server {

struct TcpPair {
  int client = -1;
  int server = -1;  // non-blocking
};

// The client has the address `from`, of loopback.
[[nodiscard]] inline TcpPair connect_tcp(in_addr_t from = INADDR_LOOPBACK) {
  TcpPair pair;
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  EXPECT_EQ(bind(listener, any, size), 0);
  EXPECT_EQ(listen(listener, 1), 0);
  EXPECT_EQ(getsockname(listener, any, &size), 0);
  pair.client = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in own{};
  own.sin_family = AF_INET;
  own.sin_addr.s_addr = htonl(from);
  EXPECT_EQ(bind(pair.client, reinterpret_cast<const sockaddr*>(&own), sizeof own), 0);
  EXPECT_EQ(connect(pair.client, any, size), 0);
  pair.server = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK);
  close(listener);
  return pair;
}

// Closes the client's end by a reset, and returns when the server's has got it.
inline void reset_by_client(const TcpPair& pair) {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  setsockopt(pair.client, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  close(pair.client);
  pollfd server{pair.server, POLLIN, 0};
  while ((server.revents & POLLHUP) == 0) ASSERT_EQ(poll(&server, 1, 10'000), 1);
}

}  // namespace headgate::server
