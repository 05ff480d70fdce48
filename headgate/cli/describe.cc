#include "headgate/cli/describe.h"

#include <algorithm>
#include <cstdint>

#include "headgate/cli/printable.h"
#include "headgate/policy/algorithm.h"
#include "headgate/policy/envoy/limit.h"
#include "headgate/policy/quantity.h"

namespace headgate::cli {
namespace {

std::string statuses_text(const policy::StatusSet& set) {
  std::string out;
  for (std::size_t status = 100; status < set.size(); ++status) {
    if (!set.test(status)) continue;
    const std::size_t hundred = status - status % 100;
    std::size_t end = status;
    while (end < set.size() && end < hundred + 100 && set.test(end)) ++end;
    out += out.empty() ? "" : ", ";
    if (status == hundred && end == hundred + 100) {
      out += std::to_string(hundred / 100) + "xx";
    } else {
      out += std::to_string(status);
      if (end > status + 1) out += '-' + std::to_string(end - 1);
    }
    status = end - 1;
  }
  return out;
}

std::string denied_text(const limit::Terms& terms) {
  switch (terms.denied) {
    case limit::Denied::free:
      return "free";
    case limit::Denied::spend:
      return "spends its cost";
    case limit::Denied::penalty:
      return "penalty of up to " + policy::duration_text(terms.penalty);
  }
  return "";
}

const char* reset_text(limit::Reset reset) {
  switch (reset) {
    case limit::Reset::pace:
      return "pace";
    case limit::Reset::next:
      return "next";
    case limit::Reset::full:
      return "full";
    case limit::Reset::window:
      return "the window's end";
  }
  return "";
}

const char* unit_text(const limit::Calendar& calendar) {
  switch (calendar.unit()) {
    case limit::CalendarUnit::day:
      return "day";
    case limit::CalendarUnit::week:
      return "week, from Monday";
    case limit::CalendarUnit::month:
      return "month";
  }
  return "";
}

// The algorithm in words.
std::string algorithm_text(const limit::Terms& terms) {
  std::string out(policy::algorithm_name(terms.algorithm));
  if (terms.calendar != nullptr) {
    out += " by the clocks of " + terms.calendar->place();
  } else if (terms.aligned) {
    out += ", aligned to the clock";
    if (terms.offset > 0) out += " plus " + policy::duration_text(terms.offset);
  }
  return out;
}

// What one partition may use: "100 requests per 1m", "5 requests at once, and 120 per 1m".
std::string quota_text(const policy::Policy& policy, const limit::Quota& quota) {
  const std::string units = std::to_string(quota.units) + ' ' + policy.unit;
  if (policy.terms.algorithm == limit::Algorithm::concurrency) return units + " at the same time";
  if (quota.count != 0 && policy.terms.algorithm == limit::Algorithm::linear) {
    return units + " at once, and " + std::to_string(quota.count) + " per " +
           policy::duration_text(quota.period);
  }
  if (policy.terms.calendar != nullptr) return units + " per " + unit_text(*policy.terms.calendar);
  return units + " per " + policy::duration_text(quota.window);
}

// The policy's own quota and algorithm, without overrides.
std::string law_text(const policy::Policy& policy) {
  const policy::Grant& own = policy.grants.front();
  if (!own.unlimited) return quota_text(policy, own.quota) + ", " + algorithm_text(policy.terms);
  const bool domain = std::any_of(policy.grants.begin(), policy.grants.end(),
                                  [](const auto& grant) { return grant.envoy != nullptr; });
  return domain ? "a domain of Envoy's, " + algorithm_text(policy.terms)
                : "no limit but for overrides";
}

// The memory of a moving window: one record for each moment at which units were taken.
std::string log_text(const policy::Policy& policy) {
  const policy::Grant& own = policy.grants.front();
  const std::uint64_t records =
      own.unlimited ? policy.terms.log : std::min<std::uint64_t>(policy.terms.log, own.quota.units);
  return "at most " + std::to_string(records) + " records a partition, of 16 bytes each";
}

std::string sharing_text(const policy::Policy& policy) {
  if (policy.sharing == limit::Sharing::exact) return "exactly";
  const std::uint64_t units = limit::leasable(policy.grants.front().law);
  if (units == 0) return "exactly, because no tenth of the quota can be leased";
  return "in leases of " + std::to_string(units) + " units together";
}

// What happens while the store that machines share is away.
std::string outage_text(const policy::Policy& policy) {
  const std::string when = "while Redis is away ";
  switch (policy.on_outage) {
    case limit::OnOutage::local:
      return when + "each machine counts alone, with " + std::to_string(policy.outage_percent) +
             "% of the quota";
    case limit::OnOutage::allow:
      return when + "all is admitted";
    case limit::OnOutage::deny:
      return when + "all is denied";
  }
  return "";
}

// For which keys a candidate is in force.
std::string share_text(const policy::Policy& candidate) {
  if (candidate.candidate_share == 0) return "in force for no key: counts beside the policy";
  return "in force for " + std::to_string(candidate.candidate_share) + "% of the keys of " +
         candidate.candidate_of;
}

}  // namespace

std::string describe(const policy::Policy& policy) {
  std::string out = policy.name + ": " + law_text(policy);
  if (policy.is_candidate()) return out + ", " + share_text(policy) + '\n';
  if (policy.mode == policy::Mode::shadow) out += ", shadow: decides and counts, never denies";
  if (policy.mode == policy::Mode::off) out += ", off";
  out += '\n';
  const auto put = [&](const std::string& name, const std::string& value) {
    out += "  " + name + std::string(10 - name.size(), ' ') + value + '\n';
  };
  put("key", policy.key_text);
  put("match", policy.match_text.empty() ? "every request" : policy.match_text);
  if (!policy.path_text.empty()) put("paths", policy.path_text);
  if (policy.cost_text != "1") {
    put("cost", policy.cost_text + (policy.is_late()    ? ", charged when the response has ended"
                                    : policy.reserves() ? ", corrected when the response has ended"
                                                        : ""));
  }
  if (policy.terms.algorithm == limit::Algorithm::moving_window) put("log", log_text(policy));
  if (policy.terms.algorithm == limit::Algorithm::concurrency) {
    put("lease", policy::duration_text(policy.terms.lease));
  }
  if (policy.terms.denied != limit::Denied::free) put("denied", denied_text(policy.terms));
  if (policy.terms.delay > 0) {
    put("delay", "up to " + policy::duration_text(policy.terms.delay) + ", for at most " +
                     std::to_string(policy.delay_waiting) + " requests at once");
  }
  if (policy.terms.reset != limit::Reset::pace) put("reset", reset_text(policy.terms.reset));
  if (policy.refund_on.any()) put("refund on", statuses_text(policy.refund_on));
  if (policy.status != 429) put("status", std::to_string(policy.status));
  if (policy.sharing != limit::Sharing::none) {
    put("shared", sharing_text(policy) + "; " + outage_text(policy));
  }
  constexpr std::size_t shown_max = 20;  // overrides; with them a policy still fits on a screen
  for (std::size_t i = 1; i < policy.grants.size(); ++i) {
    if (i > shown_max) {
      put("", "and " + std::to_string(policy.grants.size() - i) + " more");
      break;
    }
    const policy::Grant& grant = policy.grants[i];
    const std::string quota = grant.unlimited ? "unlimited" : quota_text(policy, grant.quota);
    if (grant.envoy == nullptr) {
      put(i == 1 ? "overrides" : "", quota);
    } else {
      put(i == 1 ? "limits" : "", grant.envoy->title + ": " + quota +
                                      (grant.shadow ? ", shadow" : "") +
                                      (grant.envoy->quota_mode ? ", quota mode" : ""));
    }
  }
  return out;
}

std::string describe(const policy::DecisionLogSettings& log) {
  using policy::PartitionKey;
  std::string text = "decisions: ";
  if (log.sample_percent < 100) text += std::to_string(log.sample_percent) + "% of ";
  text += log.which == policy::LoggedDecisions::all ? "all" : "the denied ones";
  text += log.format == policy::LogFormat::json ? ", as JSON" : ", as text";
  text += log.key == PartitionKey::plain    ? ", keys plain"
          : log.key == PartitionKey::opaque ? ", keys opaque"
                                            : ", without keys";
  return text + ", to " + (log.file == "-" ? "standard output" : printable(log.file)) + '\n';
}

}  // namespace headgate::cli
