// A name of Redis that takes long to resolve, or has several addresses.

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>

#include "headgate/redis/redis_store.h"
#include "headgate/redis/testing/blocking.h"
#include "headgate/redis/testing/free_port.h"
#include "headgate/redis/testing/redis_server.h"
#include "headgate/redis/trial.h"

namespace {

using Resolve = int (*)(const char*, const char*, const addrinfo*, addrinfo**);

}  // namespace

// The resolver of this program, in place of the system's.
extern "C" int getaddrinfo(const char* host, const char* port, const addrinfo* hints,
                           addrinfo** found) {
  static const auto resolve = reinterpret_cast<Resolve>(dlsym(RTLD_NEXT, "getaddrinfo"));
  const std::string_view name = host != nullptr ? host : "";
  if (name == "slow.test") {
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));  // longer than an attempt
    return resolve("127.0.0.1", port, hints, found);
  }
  if (name != "two.test") return resolve(host, port, hints, found);
  const int error = resolve("127.0.0.2", port, hints, found);
  return error != 0 ? error : resolve("127.0.0.1", port, hints, &(*found)->ai_next);
}

namespace headgate::redis {
namespace {

using store::Charge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const limit::Law law = limit::make_law({1000, 3600 * nanos_per_second}, {}).value();

bool is_used(const std::string& name, const std::string& port) {
  Options options;
  options.nodes = {ServerAddress{name, port}};
  options.timeout = std::chrono::milliseconds(50);
  const auto store = RedisStore::open(options).value();
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (take(*store, {{&law, "\1a", 1}}).undecided) {
    if (std::chrono::steady_clock::now() > end) return false;
  }
  return true;
}

TEST(RedisName, MayTakeLongerToResolveThanAnAttemptToConnect) {
  const std::string port = std::to_string(free_port());
  const RedisServer server({"--port", port, "--bind", "127.0.0.1"});
  EXPECT_TRUE(is_used("slow.test", port));
}

TEST(RedisName, MayLeadToAReplicaFirst) {
  const std::string port = std::to_string(free_port());
  const RedisServer replica({"--port", port, "--bind", "127.0.0.2", "--replicaof", "127.0.0.1 1"});
  const RedisServer primary({"--port", port, "--bind", "127.0.0.1"});
  EXPECT_TRUE(is_used("two.test", port));
}

// As a store, which uses the primary.
TEST(RedisName, IsTriedUpToThePrimary) {
  const std::string port = std::to_string(free_port());
  Options options;
  options.nodes = {ServerAddress{"two.test", port}};
  options.timeout = std::chrono::seconds(5);
  const RedisServer replica({"--port", port, "--bind", "127.0.0.2", "--replicaof", "127.0.0.1 1"});
  const Trial alone = try_redis(options);
  ASSERT_EQ(alone.faults.size(), 2);
  EXPECT_THAT(alone.faults[0], HasSubstr("it is a replica; expected the primary"));
  EXPECT_THAT(alone.faults[1], HasSubstr("it cannot be reached"));
  const RedisServer primary({"--port", port, "--bind", "127.0.0.1"});
  EXPECT_THAT(try_redis(options).faults, IsEmpty());
}

// Listens and completes no connection, as an address whose packets are dropped.
class SilentListener {
 public:
  explicit SilentListener(const std::string& port) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(static_cast<std::uint16_t>(std::stoi(port)));
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
    const auto* const address = reinterpret_cast<const sockaddr*>(&at);
    EXPECT_EQ(bind(sockets_[0], address, sizeof at), 0);
    EXPECT_EQ(listen(sockets_[0], 0), 0);
    // The others fill its queue.
    for (std::size_t i = 1; i < sockets_.size(); ++i) connect(sockets_[i], address, sizeof at);
  }
  SilentListener(const SilentListener&) = delete;
  SilentListener& operator=(const SilentListener&) = delete;
  ~SilentListener() {
    for (const int fd : sockets_) close(fd);
  }

 private:
  static int make() { return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); }
  const std::array<int, 4> sockets_{make(), make(), make(), make()};
};

TEST(RedisName, MayLeadToASilentAddressFirst) {
  const std::string port = std::to_string(free_port());
  const SilentListener silent(port);
  const RedisServer server({"--port", port, "--bind", "127.0.0.1"});
  EXPECT_TRUE(is_used("two.test", port));
}

}  // namespace
}  // namespace headgate::redis
