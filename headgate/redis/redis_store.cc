#include "headgate/redis/redis_store.h"

#include <utility>

#include "headgate/redis/worker.h"

namespace headgate::redis {

Result<std::unique_ptr<RedisStore>, std::string> RedisStore::open(Options options) {
  if (options.nodes.empty()) return Failure<std::string>("no Redis server is named");
  if (!options.cluster && options.nodes.size() > 1) {
    return Failure<std::string>("several Redis servers are named; expected one, or a cluster");
  }
  if (options.timeout.count() < 1) {
    return Failure<std::string>("the timeout for Redis is not positive");
  }
  return std::unique_ptr<RedisStore>(new RedisStore(std::move(options)));
}

RedisStore::RedisStore(Options options) : worker_(std::make_unique<Worker>(std::move(options))) {}

RedisStore::~RedisStore() = default;

Instant RedisStore::now() const noexcept { return worker_->now(); }

void RedisStore::take(std::span<store::Bundle> bundles, std::optional<Instant>& now,
                      store::Completion done) noexcept {
  worker_->take(bundles, now, done);
}

RedisStatus RedisStore::status() const { return worker_->status(); }

}  // namespace headgate::redis
