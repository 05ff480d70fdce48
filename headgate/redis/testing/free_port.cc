#include "headgate/redis/testing/free_port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <random>

namespace headgate::redis {
namespace {

// Linux gives 32768 and above to clients.
constexpr unsigned first = 10'000;
constexpr unsigned last = 22'000;
constexpr unsigned bus = 10'000;

bool is_free(unsigned port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool free = bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  close(fd);
  return free;
}

}  // namespace

std::uint16_t free_port() {
  static std::mt19937 dice{std::random_device{}()};
  for (;;) {
    const unsigned port = std::uniform_int_distribution(first, last)(dice);
    if (is_free(port) && is_free(port + bus)) return static_cast<std::uint16_t>(port);
  }
}

}  // namespace headgate::redis
