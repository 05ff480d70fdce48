#include "headgate/server/engine.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "headgate/gate/table_options.h"

namespace headgate::server {
namespace {

std::vector<std::string> texts(const std::vector<policy::Fault>& faults) {
  std::vector<std::string> all;
  for (const policy::Fault& fault : faults) all.push_back(fault.text());
  return all;
}

std::string words(const policy::TableSettings& table) {
  return std::to_string(table.memory) + " bytes " +
         (table.file.empty() ? "of memory" : "in the file " + table.file);
}

std::string other_table(const std::string& config, const policy::TableSettings& wanted,
                        const policy::TableSettings& used) {
  return config + ": store: the table is to have " + words(wanted) +
         "; expected the table that this server has, " + words(used) +
         ". To change it, restart the server" +
         (!wanted.file.empty() && wanted.file == used.file
              ? "; remove the file first, because a table cannot become smaller"
              : "");
}

void log_outage(bool is_fault, const std::string& line) {
  if (is_fault) {
    spdlog::error("{}", line);
  } else {
    spdlog::info("{}", line);
  }
}

}  // namespace

void Engine::put_in_force(std::shared_ptr<const policy::PolicySet> policies, std::uint64_t number,
                          const std::shared_ptr<gate::Counters>& before) {
  auto counters = gate::Counters::open(policies->names(), before);
  in_force_ = std::make_shared<const PolicySnapshot>(std::move(policies), store(), table_->secret(),
                                                     number, std::move(counters));
}

Result<std::unique_ptr<Engine>, std::vector<std::string>> Engine::open(
    const std::string& config, const MakeStore& make_store) {
  using Faults = Failure<std::vector<std::string>>;
  auto policies = policy::load_file(config);
  if (!policies) return Faults(texts(policies.error()));
  store::TableOptions options = gate::table_options(**policies);
  options.sharing = store::Sharing::threads;
  auto table = store::Table::open(options);
  if (!table) return Faults({table.error()});
  if (!options.file.empty()) store::FileGuard::watch();
  std::unique_ptr<Engine> engine(new Engine(config, std::move(*table)));
  const policy::Settings& settings = (*policies)->settings();
  if (make_store) {
    engine->store_ = make_store(*engine->table_);
  } else if (settings.redis) {
    auto redis = redis::PolicyStore::open(*settings.redis, *engine->table_, engine->redis_counts_,
                                          log_outage);
    if (!redis) return Faults({config + ": " + redis.error()});
    engine->redis_ = redis->get();
    engine->store_ = std::move(*redis);
  }
  engine->table_settings_ = settings.table;
  engine->redis_settings_ = settings.redis;
  engine->put_in_force(std::move(*policies), 1, nullptr);
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
  if (wanted.memory < table_settings_.memory || wanted.file != table_settings_.file) {
    return Faults({other_table(config_, wanted, table_settings_)});
  }
  if ((*policies)->settings().redis != redis_settings_) {
    return Faults({config_ +
                   ": store: redis is not as this server has it; to change it, restart the "
                   "server"});
  }
  // Not if the size is the former one: another process may have made the table larger meanwhile.
  if (wanted.memory > table_settings_.memory) {
    const auto grown = table_->grow(gate::table_options(**policies));
    if (!grown) return Faults({config_ + ": store: " + grown.error()});
  }
  table_settings_ = wanted;
  return std::move(*policies);
}

Result<void, std::vector<std::string>> Engine::reload() {
  auto policies = load();
  if (!policies) {
    count_refused_reload();
    return Failure<std::vector<std::string>>(std::move(policies.error()));
  }
  const std::lock_guard lock(mutex_);
  const std::uint64_t next = number() + 1;
  put_in_force(std::move(*policies), next, in_force_->counters());
  number_.store(next, std::memory_order_release);
  return {};
}

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
