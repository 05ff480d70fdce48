#include "headgate/redis/redis_store.h"

#include <exception>
#include <utility>

#include "headgate/redis/worker.h"

namespace headgate::redis {

Result<std::unique_ptr<RedisStore>, std::string> RedisStore::open(Options options) {
  if (options.nodes.empty()) return Failure<std::string>("no Redis server is named");
  if (options.cluster && !options.sentinel.empty()) {
    return Failure<std::string>("a cluster has no sentinels; expected one of the two");
  }
  if (!options.cluster && options.sentinel.empty() && options.nodes.size() > 1) {
    return Failure<std::string>(
        "several Redis servers are named; expected one, or a cluster, or sentinels");
  }
  if (options.timeout.count() < 1) {
    return Failure<std::string>("the timeout for Redis is not positive");
  }
  return std::unique_ptr<RedisStore>(new RedisStore(std::move(options)));
}

RedisStore::RedisStore(Options options) : options_(std::move(options)) {}

RedisStore::~RedisStore() = default;

Worker& RedisStore::worker() {
  std::call_once(started_, [this] { worker_ = std::make_unique<Worker>(options_, clock_); });
  return *worker_;
}

void RedisStore::take(std::span<store::Bundle> bundles, std::optional<Instant>& now,
                      store::Completion done) noexcept {
  try {
    return worker().take(bundles, now, done);
  } catch (const std::exception&) {  // no memory, or no thread
  }
  for (store::Bundle& bundle : bundles) bundle.undecided = true;
  if (!now) now = clock_.now();
  done.call(done.context);
}

RedisStatus RedisStore::status() { return worker().status(); }

}  // namespace headgate::redis
