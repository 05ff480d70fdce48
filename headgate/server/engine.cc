#include "headgate/server/engine.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "headgate/gate/table_change.h"
#include "headgate/gate/table_options.h"

namespace headgate::server {
namespace {

std::vector<std::string> texts(const std::vector<policy::Fault>& faults) {
  std::vector<std::string> all;
  for (const policy::Fault& fault : faults) all.push_back(fault.text());
  return all;
}

// The file of the decision log, or "".
std::string decision_file(const policy::PolicySet& policies) {
  const auto& log = policies.settings().decisions;
  return log ? log->file : "";
}

void log_outage(bool is_fault, const std::string& line) {
  if (is_fault) {
    spdlog::error("{}", line);
  } else {
    spdlog::info("{}", line);
  }
}

}  // namespace

// Returns a snapshot of these policies of the file with overrides_.
std::shared_ptr<const PolicySnapshot> Engine::snapshot(
    std::shared_ptr<const policy::PolicySet> policies, PolicySnapshot::Numbers numbers) {
  const auto before = in_force_ ? in_force_->counters() : nullptr;
  auto counters = gate::Counters::open(policies->names(), before);
  policy::Overridden overridden{std::move(policies), {}};
  if (!overrides_.all().empty()) overridden = overridden.policies->with(overrides_.all());
  return std::make_shared<const PolicySnapshot>(
      std::move(overridden.policies),
      policy::OverrideList{overrides_.all(), std::move(overridden.faults)}, store(),
      table_->secret(), numbers, std::move(counters), in_force_.get());
}

// `next` has the overrides_ of now.
void Engine::put_in_force(std::shared_ptr<const PolicySnapshot> next) noexcept {
  const std::uint64_t number = next->number();
  {
    const std::lock_guard lock(mutex_);
    in_force_.swap(next);
  }
  number_.store(number, std::memory_order_release);
  changes_in_force_ = overrides_.changes();
}

Result<std::unique_ptr<Engine>, std::vector<std::string>> Engine::open(
    const std::string& config, const EngineOptions& options) {
  using Faults = Failure<std::vector<std::string>>;
  auto policies = policy::load_file(config);
  if (!policies) return Faults(texts(policies.error()));
  store::TableOptions table_options = gate::table_options(**policies);
  table_options.sharing = store::Sharing::threads;
  auto table = store::Table::open(table_options);
  if (!table) return Faults({table.error()});
  std::string overrides_file = options.overrides_file;
  if (!table_options.file.empty()) {
    store::FileGuard::watch();
    if (overrides_file.empty()) overrides_file = table_options.file + ".overrides";
  }
  std::unique_ptr<Engine> engine(new Engine(config, std::move(*table), std::move(overrides_file)));
  const policy::Settings& settings = (*policies)->settings();
  if (options.make_store) {
    engine->store_ = options.make_store(*engine->table_);
  } else if (settings.redis) {
    auto redis = redis::PolicyStore::open(*settings.redis, *engine->table_, engine->redis_counts_,
                                          log_outage);
    if (!redis) return Faults({config + ": " + redis.error()});
    engine->redis_ = redis->get();
    engine->store_ = std::move(*redis);
  }
  engine->table_settings_ = settings.table;
  engine->redis_settings_ = settings.redis;
  if (const auto opened = engine->overrides_.open(unix_now()); !opened) {
    return Faults({opened.error()});
  }
  engine->policies_ = *std::move(policies);
  engine->put_in_force(engine->snapshot(engine->policies_, {}));
  return engine;
}

std::shared_ptr<const PolicySnapshot> Engine::in_force() const {
  const std::lock_guard lock(mutex_);
  return in_force_;
}

// The policies of the file as it is now, if they can be put in force. Makes the table as large as
// they say.
Result<std::shared_ptr<const policy::PolicySet>, std::vector<std::string>> Engine::load() {
  using Faults = Failure<std::vector<std::string>>;
  auto policies = policy::load_file(config_);
  if (!policies) return Faults(texts(policies.error()));
  const policy::TableSettings& wanted = (*policies)->settings().table;
  const std::string refused =
      gate::refuse_table(wanted, table_settings_, "server", "restart the server");
  if (!refused.empty()) return Faults({config_ + ": " + refused});
  if ((*policies)->settings().redis != redis_settings_) {
    return Faults({config_ +
                   ": store: redis is not as this server has it; to change it, restart the "
                   "server"});
  }
  policy::TableSettings next_settings = wanted;
  const auto grown = gate::grow_table(*table_, **policies);
  if (!grown) return Faults({config_ + ": " + grown.error()});
  // The last step that can fail: a reload that is refused leaves the former login in use.
  if (redis_ != nullptr) {
    const auto renewed = redis_->renew_login(*redis_settings_);
    if (!renewed) return Faults({config_ + ": " + renewed.error()});
  }
  table_settings_ = std::move(next_settings);
  return std::move(*policies);
}

Result<void, std::vector<std::string>> Engine::reload() {
  const std::lock_guard reading(reload_mutex_);
  auto policies = load();
  if (!policies) {
    count_refused_reload();
    return Failure<std::vector<std::string>>(std::move(policies.error()));
  }
  // Only now: an override that is made meanwhile does not wait for the file to be read.
  const std::lock_guard lock(change_mutex_);
  auto next = snapshot(*policies, {number() + 1, in_force_->reading() + 1});
  decision_log_.open(decision_file(**policies));  // before the first line
  policies_ = *std::move(policies);
  put_in_force(std::move(next));
  last_reload_.store(unix_now(), std::memory_order_relaxed);
  reloads_.fetch_add(1, std::memory_order_relaxed);
  return {};
}

void Engine::open_decision_log() { decision_log_.open(decision_file(in_force()->policies())); }

void Engine::for_each_worker(const std::function<void(const WorkerContext&)>& see) const {
  const std::lock_guard lock(workers_mutex_);
  for (const WorkerContext* worker : workers_) see(*worker);
}

void Engine::add(const WorkerContext& worker) {
  const std::lock_guard lock(workers_mutex_);
  workers_.push_back(&worker);
}

void Engine::remove(const WorkerContext& worker) noexcept {
  const std::lock_guard lock(workers_mutex_);
  std::erase(workers_, &worker);
}

}  // namespace headgate::server
