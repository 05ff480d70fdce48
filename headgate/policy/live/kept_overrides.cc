#include "headgate/policy/live/kept_overrides.h"

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

#include "headgate/policy/live/override_text.h"
#include "headgate/policy/policy_set.h"

namespace headgate::policy {
namespace {

using Reason = OverrideRefusal::Reason;

Failure<OverrideRefusal> refusal(Reason reason, std::string what) {
  return Failure<OverrideRefusal>({reason, std::move(what)});
}

// The key of a partition's own; empty if there is no such policy.
std::string key_of(const PolicySet& policies, std::string_view policy, std::string_view key) {
  std::string text;
  const auto match = policies.named(policy, key, 0, text);
  return match ? std::string(match->own_key) : std::string();
}

// Tells which overrides are for one partition, however their keys are spelt.
class SamePartition {
 public:
  SamePartition(const PolicySet& policies, std::string_view policy, std::string_view key)
      : policies_(policies),
        policy_(policy),
        key_(key),
        store_key_(key_of(policies, policy, key)) {}

  [[nodiscard]] bool operator()(const LiveOverride& override) const {
    if (override.policy != policy_) return false;
    return override.key == key_ ||
           (!store_key_.empty() && key_of(policies_, override.policy, override.key) == store_key_);
  }

 private:
  const PolicySet& policies_;
  std::string_view policy_;
  std::string_view key_;
  std::string store_key_;
};

void erase_ended(std::vector<LiveOverride>& overrides, std::uint64_t now) {
  std::erase_if(overrides, [&](const LiveOverride& override) { return override.has_ended(now); });
}

// How long an override stays in the file after its end [s], if there is room. The clock may be
// ahead, or that of another process with the file be behind. Within a week somebody notices that.
constexpr std::uint64_t kept_after_end = 7 * 24 * 3600;

}  // namespace

Result<void, std::string> KeptOverrides::open(std::uint64_t now) {
  if (path().empty()) return {};
  auto overrides = file_.read();
  if (!overrides) return Failure<std::string>(overrides.error());
  replace(*std::move(overrides), now);
  return {};
}

// Removes those that have ended, and notes them.
void KeptOverrides::end_those_of_before(std::uint64_t now) noexcept {
  now_ = now;
  for (const LiveOverride& override : all_) {
    if (!override.has_ended(now)) continue;
    try {
      ended_.push_back(json_of(override));
    } catch (const std::bad_alloc&) {
      // A line of the log is lost, and not what the file says.
    }
  }
  const std::size_t before = all_.size();
  erase_ended(all_, now);
  if (all_.size() != before) ++changes_;
}

// The same, before `next` takes their place.
void KeptOverrides::replace(std::vector<LiveOverride> next, std::uint64_t now) noexcept {
  end_those_of_before(now);
  erase_ended(next, now);
  if (next == all_) return;
  all_ = std::move(next);
  ++changes_;
}

Result<void, OverrideRefusal> KeptOverrides::change(const OverrideFile::Change& change,
                                                    std::uint64_t now) {
  if (path().empty()) return refusal(Reason::no_file, without_file_);
  auto changed = file_.change([&](std::vector<LiveOverride>& all) {
    erase_ended(all, now - std::min(now, kept_after_end));
    return change(all);
  });
  if (!changed) return refusal(Reason::failed, changed.error());
  fault_.clear();
  replace(*std::move(changed), now);
  return {};
}

Result<void, OverrideRefusal> KeptOverrides::set(const PolicySet& policies,
                                                 const LiveOverride& override, std::uint64_t now) {
  if (std::string fault = policies.fault_of(override); !fault.empty()) {
    return refusal(Reason::unfit, std::move(fault));
  }
  const SamePartition same(policies, override.policy, override.key);
  bool is_full = false;
  const auto set = change(
      [&](std::vector<LiveOverride>& all) {
        std::erase_if(all, same);
        if (all.size() >= live_overrides_max) erase_ended(all, now);
        is_full = all.size() >= live_overrides_max;
        if (!is_full) all.push_back(override);
        return !is_full;
      },
      now);
  if (set && is_full) {
    return refusal(Reason::too_many,
                   "there are " + std::to_string(live_overrides_max) +
                       " overrides already; expected one of them to be removed first");
  }
  return set;
}

Result<std::optional<LiveOverride>, OverrideRefusal> KeptOverrides::remove(
    const PolicySet& policies, std::string_view policy, std::string_view key, std::uint64_t now) {
  const SamePartition same(policies, policy, key);
  std::optional<LiveOverride> removed;
  const auto changed = change(
      [&](std::vector<LiveOverride>& all) {
        for (const LiveOverride& override : all) {
          if (same(override) && !override.has_ended(now)) removed = override;
        }
        return std::erase_if(all, same) > 0;
      },
      now);
  if (!changed) return Failure<OverrideRefusal>(changed.error());
  return removed;
}

KeptOverrides::News KeptOverrides::follow(std::uint64_t now) {
  News news;
  if (path().empty()) return news;
  const bool is_other = file_.has_changed();
  const bool clock_went_back = now < now_;  // the file has those that ended too early
  end_those_of_before(now);
  std::string read_again;
  if (is_other || file_.is_unread() || clock_went_back) {
    const std::uint64_t changes = changes_;
    auto read = file_.read();
    if (read) {
      replace(*std::move(read), now);
      const bool had_fault = !std::exchange(fault_, {}).empty();
      if (had_fault || changes_ != changes) {
        read_again =
            path() +
            (is_other && !had_fault ? " was changed by another process" : " was read again") +
            "; overrides now: " + std::to_string(all_.size());
      }
    } else if (is_other || read.error() != fault_) {
      fault_ = read.error();
      news.fault = fault_ + "; the overrides before it stay in force";
    }
  }
  for (const std::string& override : std::exchange(ended_, {})) {
    news.lines.push_back("an override has ended: " + override);
  }
  if (!read_again.empty()) news.lines.push_back(std::move(read_again));
  return news;
}

std::string json_of(const LiveOverride& override) {
  std::string out = "{";
  append_members(out, override);
  return out + '}';
}

}  // namespace headgate::policy
