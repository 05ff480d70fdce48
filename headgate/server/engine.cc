#include "headgate/server/engine.h"

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

std::shared_ptr<const PolicySnapshot> snapshot(std::shared_ptr<const policy::PolicySet> policies,
                                               store::Store& store, const HashSecret& secret,
                                               std::uint64_t number,
                                               const std::shared_ptr<gate::Counters>& before) {
  std::vector<std::string> names;
  for (const policy::Policy& policy : policies->policies()) names.push_back(policy.name);
  return std::make_shared<const PolicySnapshot>(std::move(policies), store, secret, number,
                                                gate::Counters::open(std::move(names), before));
}

}  // namespace

Engine::Engine(std::string config, std::unique_ptr<store::Table> table,
               std::unique_ptr<store::Store> store,
               std::shared_ptr<const policy::PolicySet> policies)
    : config_(std::move(config)),
      table_(std::move(table)),
      store_(std::move(store)),
      in_force_(snapshot(policies, this->store(), table_->secret(), 1, nullptr)),
      table_settings_(policies->settings().table) {}

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
  auto store = make_store ? make_store(**table) : nullptr;
  return std::unique_ptr<Engine>(
      new Engine(config, std::move(*table), std::move(store), std::move(*policies)));
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
  if (const auto grown = table_->grow(gate::table_options(**policies)); !grown) {
    return Faults({config_ + ": store: " + grown.error()});
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
  in_force_ =
      snapshot(std::move(*policies), store(), table_->secret(), next, in_force_->counters());
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
