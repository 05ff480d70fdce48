#include "headgate/store/testing/conformance.h"

#include <chrono>

#include "headgate/redis/redis_store.h"
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

INSTANTIATE_TEST_SUITE_P(Redis, StoreConformance,
                         testing::Values(StoreUnderTest{"one_server", on_one_server}),
                         [](const auto& the) { return the.param.name; });
INSTANTIATE_TEST_SUITE_P(Redis, LawConformance,
                         testing::Values(StoreUnderTest{"one_server", on_one_server}),
                         [](const auto& the) { return the.param.name; });

}  // namespace
}  // namespace headgate::store
