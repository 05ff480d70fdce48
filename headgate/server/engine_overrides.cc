// The part of Engine that is about overrides which are made while the server runs.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "headgate/policy/live/override_text.h"
#include "headgate/server/engine.h"

namespace headgate::server {
namespace {

using Reason = OverrideRefusal::Reason;

Failure<OverrideRefusal> refusal(Reason reason, std::string what) {
  return Failure<OverrideRefusal>({reason, std::move(what)});
}

// The store key of a partition; empty if there is no such policy.
std::string key_of(const policy::PolicySet& policies, std::string_view policy,
                   std::string_view key) {
  std::string text;
  const auto match = policies.named(policy, key, 0, text);
  return match ? std::string(match->key) : std::string();
}

// Tells which overrides are for one partition, however their keys are spelt.
class SamePartition {
 public:
  SamePartition(const policy::PolicySet& policies, std::string_view policy, std::string_view key)
      : policies_(policies),
        policy_(policy),
        key_(key),
        store_key_(key_of(policies, policy, key)) {}

  [[nodiscard]] bool operator()(const policy::LiveOverride& override) const {
    if (override.policy != policy_) return false;
    return override.key == key_ ||
           (!store_key_.empty() && key_of(policies_, override.policy, override.key) == store_key_);
  }

 private:
  const policy::PolicySet& policies_;
  std::string_view policy_;
  std::string_view key_;
  std::string store_key_;
};

std::string words(const policy::LiveOverride& override) {
  std::string out = "{";
  policy::append_members(out, override);
  return out + '}';
}

}  // namespace

Result<void, OverrideRefusal> Engine::change_overrides(const policy::OverrideFile::Change& change,
                                                       std::uint64_t now) {
  if (overrides_file().empty()) {
    return refusal(Reason::no_file,
                   "this server has no file that keeps overrides; expected headgate serve "
                   "--overrides-file FILE, or a policy file with store: {table: {file: FILE}}");
  }
  auto changed = overrides_file_.change([&](std::vector<policy::LiveOverride>& all) {
    std::erase_if(all, [&](const auto& override) { return override.has_ended(now); });
    return change(all);
  });
  if (!changed) return refusal(Reason::failed, changed.error());
  put_in_force(*std::move(changed), now);
  return {};
}

Result<void, OverrideRefusal> Engine::set_override(const policy::LiveOverride& override,
                                                   std::uint64_t now) {
  const std::lock_guard lock(change_mutex_);
  if (std::string fault = policies_->fault_of(override); !fault.empty()) {
    return refusal(Reason::unfit, std::move(fault));
  }
  const SamePartition same(*policies_, override.policy, override.key);
  bool is_full = false;
  const auto set = change_overrides(
      [&](std::vector<policy::LiveOverride>& all) {
        std::erase_if(all, same);
        is_full = all.size() >= policy::live_overrides_max;
        if (!is_full) all.push_back(override);
        return !is_full;
      },
      now);
  if (set && is_full) {
    return refusal(Reason::too_many,
                   "there are " + std::to_string(policy::live_overrides_max) +
                       " overrides already; expected one of them to be removed first");
  }
  return set;
}

Result<std::optional<policy::LiveOverride>, OverrideRefusal> Engine::remove_override(
    std::string_view policy, std::string_view key, std::uint64_t now) {
  const std::lock_guard lock(change_mutex_);
  const SamePartition same(*policies_, policy, key);
  std::optional<policy::LiveOverride> removed;
  const auto changed = change_overrides(
      [&](std::vector<policy::LiveOverride>& all) {
        const auto found = std::find_if(all.begin(), all.end(), same);
        if (found == all.end()) return false;
        removed = *found;
        std::erase_if(all, same);
        return true;
      },
      now);
  if (!changed) return Failure<OverrideRefusal>(changed.error());
  return removed;
}

void Engine::follow_overrides(std::uint64_t now) {
  const std::lock_guard lock(change_mutex_);
  if (overrides_file().empty()) return;
  std::vector<policy::LiveOverride> ended;
  std::copy_if(overrides_.begin(), overrides_.end(), std::back_inserter(ended),
               [&](const policy::LiveOverride& override) { return override.has_ended(now); });
  std::optional<std::vector<policy::LiveOverride>> next;
  if (overrides_file_.has_changed()) {
    auto changed = overrides_file_.read();
    if (changed) {
      next = *std::move(changed);
    } else {
      spdlog::error("{}; the overrides before it stay in force", changed.error());
    }
  }
  const bool was_changed = next.has_value();
  if (was_changed || !ended.empty()) put_in_force(next ? *std::move(next) : overrides_, now);
  // Now it is so.
  for (const policy::LiveOverride& override : ended) {
    spdlog::info("an override has ended: {}", words(override));
  }
  if (was_changed) {
    spdlog::info("{} was changed by another process; overrides now: {}", overrides_file(),
                 overrides_.size());
  }
}

}  // namespace headgate::server
