#include "headgate/redis/policy_store.h"

#include <exception>
#include <utility>

#include "headgate/redis/settings_options.h"

namespace headgate::redis {
namespace {

// Between two looks at the reason of an outage. A Redis that starts again is back by then, and of
// reasons that alternate, as those of a cluster's nodes, the log does not grow much.
constexpr std::chrono::seconds look_interval{10};

std::string seconds_text(std::chrono::steady_clock::duration time) {
  const auto whole = std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
  const std::string ms = std::to_string(whole % 1000);
  return std::to_string(whole / 1000) + "." + std::string(3 - ms.size(), '0') + ms + " s";
}

}  // namespace

Result<std::unique_ptr<PolicyStore>, std::string> PolicyStore::open(
    const policy::RedisSettings& settings, store::Store& table, RedisCounts& counts, Log log,
    Clock clock) {
  auto options = options_of(settings);
  if (!options) return Failure<std::string>("store: redis: " + options.error());
  options->counts = &counts;
  auto redis = RedisStore::open(std::move(*options));
  if (!redis) return Failure<std::string>("store: redis: " + redis.error());
  return std::unique_ptr<PolicyStore>(
      new PolicyStore(std::move(*redis), table, std::move(log), clock));
}

PolicyStore::PolicyStore(std::unique_ptr<RedisStore> redis, store::Store& table, Log log,
                         Clock clock)
    : log_(std::move(log)),
      clock_(clock),
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
  const bool is_outage = shared_.is_outage();
  if (is_outage) outage_continues();
  const bool is_one = bundles.size() == 1 && !is_outage;
  if (!is_one || !redis_->take_at_once(bundles[0])) return shared_.take(bundles, now, done);
  if (!now) now = shared_.now();
  done.call(done.context);
}

void PolicyStore::outage_changed(bool begins) noexcept {
  if (is_closing_.load()) return;
  const std::lock_guard lock(outage_lock_);
  const Time now = clock_();
  next_look_.store(begins ? now + look_interval : Time::max());
  try {
    if (!begins) return log_(false, "Redis is back after " + seconds_text(now - began_));
    began_ = now;
    reason_ = redis_->status().fault;
    log_(true, "Redis is away, and policies are decided as their on-outage says: " + reason_);
  } catch (const std::exception&) {
    // Without memory for the line, the metrics still show it.
  }
}

// What was wrong in the first moment is often not what keeps Redis away.
void PolicyStore::outage_continues() noexcept {
  const Time now = clock_();
  if (now < next_look_.load()) return;
  const std::lock_guard lock(outage_lock_);
  if (now < next_look_.load()) return;
  next_look_.store(now + look_interval);
  try {
    std::string reason = redis_->status().fault;
    if (reason == reason_) return;
    reason_ = std::move(reason);
    log_(true, "Redis is still away after " + seconds_text(now - began_) + ": " + reason_);
  } catch (const std::exception&) {
    // As above.
  }
}

}  // namespace headgate::redis
