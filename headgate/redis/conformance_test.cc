#include "headgate/store/testing/conformance.h"

#include <chrono>
#include <string>

#include "headgate/redis/redis_store.h"
#include "headgate/redis/testing/free_port.h"
#include "headgate/redis/testing/redis_server.h"

namespace headgate::store {
namespace {

// Long enough for any machine: a test ends as soon as Redis answers.
constexpr std::chrono::seconds patience{60};

std::unique_ptr<Store> on_one_server() {
  static const redis::RedisServer server;
  server.command({"FLUSHALL"});
  redis::Options options;
  options.nodes = {server.address()};
  options.timeout = patience;
  options.clock = redis::Clock::caller;
  return std::move(redis::RedisStore::open(options)).value();
}

// A cluster of one server, so that keys of different slots are taken apart.
std::unique_ptr<Store> on_a_cluster() {
  static const std::string port = std::to_string(redis::free_port());
  static const redis::RedisServer server(
      {"--port", port, "--bind", "127.0.0.1", "--cluster-enabled", "yes"});
  server.command({"CLUSTER", "ADDSLOTSRANGE", "0", "16383"});
  while (server.command({"CLUSTER", "INFO"}).find("cluster_state:ok") == std::string::npos) {
  }
  server.command({"FLUSHALL"});
  redis::Options options;
  options.nodes = {redis::Address{"127.0.0.1", port}};
  options.cluster = true;
  options.timeout = patience;
  options.clock = redis::Clock::caller;
  return std::move(redis::RedisStore::open(options)).value();
}

INSTANTIATE_TEST_SUITE_P(Redis, StoreConformance,
                         testing::Values(StoreUnderTest{"one_server", on_one_server},
                                         StoreUnderTest{"a_cluster", on_a_cluster}),
                         [](const auto& the) { return the.param.name; });

}  // namespace
}  // namespace headgate::store
