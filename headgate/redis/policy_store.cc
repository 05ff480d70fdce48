#include "headgate/redis/policy_store.h"

#include <exception>
#include <utility>

#include "headgate/redis/settings_options.h"

namespace headgate::redis {

Result<std::unique_ptr<PolicyStore>, std::string> PolicyStore::open(
    const policy::RedisSettings& settings, store::Store& table, RedisCounts& counts, Log log) {
  auto options = options_of(settings);
  if (!options) return Failure<std::string>("store: redis: " + options.error());
  options->counts = &counts;
  auto redis = RedisStore::open(std::move(*options));
  if (!redis) return Failure<std::string>("store: redis: " + redis.error());
  return std::unique_ptr<PolicyStore>(new PolicyStore(std::move(*redis), table, std::move(log)));
}

PolicyStore::PolicyStore(std::unique_ptr<RedisStore> redis, store::Store& table, Log log)
    : log_(std::move(log)),
      shared_(*redis, table, [this](bool begins) { outage_changed(begins); }),
      redis_(std::move(redis)) {}

Result<void, std::string> PolicyStore::renew_login(const policy::RedisSettings& settings) {
  auto login = login_of(settings);
  if (!login) return Failure<std::string>("store: redis: " + login.error());
  redis_->use_login(std::move(*login));
  return {};
}

// One leased policy is the most frequent case, and needs no other store. During an outage,
// `shared_` has to see when it is over.
void PolicyStore::take(std::span<store::Bundle> bundles, std::optional<Instant>& now,
                       store::Completion done) noexcept {
  const bool is_one = bundles.size() == 1 && !shared_.is_outage();
  if (!is_one || !redis_->take_at_once(bundles[0])) return shared_.take(bundles, now, done);
  if (!now) now = shared_.now();
  done.call(done.context);
}

void PolicyStore::outage_changed(bool begins) noexcept {
  using Steady = std::chrono::steady_clock;
  if (is_closing_.load()) return;
  const Steady::duration now = Steady::now().time_since_epoch();
  try {
    if (begins) {
      began_.store(now.count());
      return log_(true, "Redis is away, and policies are decided as their on-outage says: " +
                            redis_->status().fault);
    }
    const auto lasted = std::chrono::duration_cast<std::chrono::milliseconds>(
        now - Steady::duration(began_.load()));
    const std::string ms = std::to_string(lasted.count() % 1000);
    log_(false, "Redis is back after " + std::to_string(lasted.count() / 1000) + "." +
                    std::string(3 - ms.size(), '0') + ms + " s");
  } catch (const std::exception&) {
    // Without memory for the line, the metrics still show it.
  }
}

}  // namespace headgate::redis
