// The part of Engine that is about overrides which are made while the server runs.
#include <spdlog/spdlog.h>

#include <utility>

#include "headgate/server/engine.h"

namespace headgate::server {

// Puts the overrides in force, if they are others than those in force.
void Engine::follow_changes() {
  if (overrides_.changes() == changes_in_force_) return;
  put_in_force(snapshot(policies_, {number() + 1, in_force_->reading()}));
}

Result<void, policy::OverrideRefusal> Engine::set_override(const policy::LiveOverride& override,
                                                           std::uint64_t now) {
  const std::lock_guard lock(change_mutex_);
  auto set = overrides_.set(*policies_, override, now);
  follow_changes();
  return set;
}

Result<std::optional<policy::LiveOverride>, policy::OverrideRefusal> Engine::remove_override(
    std::string_view policy, std::string_view key, std::uint64_t now) {
  const std::lock_guard lock(change_mutex_);
  auto removed = overrides_.remove(*policies_, policy, key, now);
  follow_changes();
  return removed;
}

void Engine::follow_overrides(std::uint64_t now) {
  const std::lock_guard lock(change_mutex_);
  const policy::KeptOverrides::News news = overrides_.follow(now);
  follow_changes();
  // Now it is so.
  for (const std::string& line : news.lines) spdlog::info("{}", line);
  if (news.fault.empty()) return;
  refused_override_files_.fetch_add(1, std::memory_order_relaxed);
  spdlog::error("{}", news.fault);
}

}  // namespace headgate::server
