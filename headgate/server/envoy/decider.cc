#include "headgate/server/envoy/decider.h"

#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <limits>
#include <new>

#include "headgate/policy/envoy/read_envoy.h"
#include "headgate/policy/file/spelling.h"
#include "headgate/policy/shared_of.h"

namespace headgate::server {
namespace {

namespace pb = envoy::service::ratelimit::v3;
using Kind = EnvoyFault::Kind;
using policy::EnvoyUnit;

// Protobuf would write to standard error about each message whose text is no UTF-8, and any caller
// can send these. The caller is told what is wrong.
[[maybe_unused]] auto* const silenced = google::protobuf::SetLogHandler(nullptr);

constexpr std::uint32_t unlimited = std::numeric_limits<std::uint32_t>::max();

EnvoyFault malformed(std::string what) { return {Kind::malformed, std::move(what)}; }

std::uint32_t clamped(std::uint64_t value) noexcept {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(value, unlimited));
}

// Returns the unit that is as long as the window, or UNKNOWN.
pb::RateLimitResponse::RateLimit::Unit unit_of(Nanos window) noexcept {
  for (const EnvoyUnit unit :
       {EnvoyUnit::second, EnvoyUnit::minute, EnvoyUnit::hour, EnvoyUnit::day, EnvoyUnit::month,
        EnvoyUnit::year, EnvoyUnit::week}) {
    if (policy::window_of(unit) == window) {
      return static_cast<pb::RateLimitResponse::RateLimit::Unit>(unit);
    }
  }
  return pb::RateLimitResponse::RateLimit::UNKNOWN;
}

// Whether an enforced limit denied.
bool is_over(const gate::CheckResult& result) noexcept {
  return result.limited && !result.decision.admitted && result.enforced();
}

void write_status(const gate::CheckResult& result,
                  pb::RateLimitResponse::DescriptorStatus& status) {
  status.set_code(is_over(result) ? pb::RateLimitResponse::OVER_LIMIT : pb::RateLimitResponse::OK);
  if (!result.limited) {
    status.clear_current_limit();
    status.clear_duration_until_reset();
    status.set_limit_remaining(result.policy == nullptr ? 0 : unlimited);
    return;
  }
  pb::RateLimitResponse::RateLimit& limit = *status.mutable_current_limit();
  limit.set_requests_per_unit(clamped(result.grant->quota.units));
  limit.set_unit(unit_of(result.grant->quota.window));
  limit.set_name(result.grant->envoy != nullptr ? result.grant->envoy->name
                                                : std::string(result.name));
  status.set_limit_remaining(clamped(result.decision.remaining));
  if (result.decision.reset == limit::Decision::no_reset) {
    status.clear_duration_until_reset();
    return;
  }
  // Whole seconds, rounded up: Envoy drops fractions.
  constexpr std::uint64_t duration_max = 315'576'000'000;  // [s] protobuf's limit of a Duration
  status.mutable_duration_until_reset()->set_seconds(
      static_cast<std::int64_t>(std::min(result.decision.reset, duration_max)));
}

void add_header(std::string_view name, std::string_view value, pb::RateLimitResponse& response) {
  pb::HeaderValue& header = *response.add_response_headers_to_add();
  header.set_key(name.data(), name.size());
  header.set_value(value.data(), value.size());
}

}  // namespace

std::optional<EnvoyFault> EnvoyDecider::decide(const Request& request, DecisionJob& job) {
  const gate::Gate& gate = job.snapshot->gate();
  job.result_of.clear();
  if (auto fault = read(request, gate.policies())) return fault;
  if (request.domain() == policy::reserved_domain) return decide_named(job);
  if (!gate.decide(request.domain(), descriptors_, ops_, worker_.moment(job), job.decision,
                   job.begin())) {
    return EnvoyFault{Kind::unavailable, "out of memory"};
  }
  if (has_own_limits_ && !job.is_decided()) job.limits = std::move(own_limits_);
  return std::nullopt;
}

std::optional<EnvoyFault> EnvoyDecider::read(const Request& request,
                                             const policy::PolicySet& policies) {
  if (request.domain().empty()) return malformed("rate limit domain must not be empty");
  if (request.descriptors().empty()) {
    return malformed("rate limit descriptor list must not be empty");
  }
  if (static_cast<std::size_t>(request.descriptors_size()) > policy::policies_per_request_max) {
    return malformed("expected at most " + std::to_string(policy::policies_per_request_max) +
                     " descriptors");
  }
  std::size_t count = 0;
  for (const pb::RawRateLimitDescriptor& descriptor : request.descriptors()) {
    if (descriptor.entries_size() > entries_max) {
      return malformed("expected at most " + std::to_string(entries_max) +
                       " entries in a descriptor");
    }
    count += static_cast<std::size_t>(descriptor.entries_size());
  }
  entries_.clear();
  entries_.reserve(count);  // descriptors point into it
  descriptors_.clear();
  ops_.clear();
  has_own_limits_ = false;
  const policy::Policy* domain = policies.domain(request.domain());
  for (const pb::RawRateLimitDescriptor& descriptor : request.descriptors()) {
    const std::size_t first = entries_.size();
    for (const pb::RawRateLimitDescriptor::Entry& entry : descriptor.entries()) {
      entries_.push_back({entry.key(), entry.value()});
    }
    const std::uint64_t cost = descriptor.has_hits_addend()
                                   ? descriptor.hits_addend().value()
                                   : std::max<std::uint64_t>(request.hits_addend(), 1);
    const std::size_t index = descriptors_.size();
    const policy::Grant* grant = nullptr;
    if (descriptor.has_limit() && domain != nullptr) {
      if (auto fault = read_limit(descriptor.limit(), *domain, index)) return fault;
      grant = &own_limits_->grants[index];
      has_own_limits_ = true;
    }
    descriptors_.push_back({std::span(entries_).subspan(first), cost, grant});
    ops_.push_back(descriptor.is_negative_hits() ? limit::Op::refund : limit::Op::spend);
  }
  return std::nullopt;
}

std::optional<EnvoyFault> EnvoyDecider::read_limit(
    const pb::RateLimitDescriptor::RateLimitOverride& limit, const policy::Policy& domain,
    std::size_t index) {
  if (limit.unit() < pb::SECOND || limit.unit() > pb::YEAR) {
    return malformed("the limit of descriptor " + std::to_string(index) +
                     " has no known unit; expected SECOND, MINUTE, HOUR, DAY, MONTH or YEAR");
  }
  if (own_limits_ == nullptr) own_limits_ = std::make_shared<OwnLimits>();
  policy::EnvoyLimit& own = own_limits_->limits[index];
  own.requests_per_unit = limit.requests_per_unit();
  own.unit = static_cast<EnvoyUnit>(limit.unit());
  const auto grant = policy::envoy_grant(own, domain.terms);
  if (!grant) {
    return malformed("the limit of descriptor " + std::to_string(index) +
                     " is beyond exact 128-bit arithmetic");
  }
  own_limits_->grants[index] = *grant;
  own_limits_->grants[index].shared = policy::shared_of(domain, *grant);
  return std::nullopt;
}

// Makes one check, with the costs of all, of those that have the same policy and key. Values of
// descriptors come from clients, and Envoy admits a request whose call is refused.
void EnvoyDecider::merge_checks(DecisionJob& job) {
  std::vector<std::string> keys;  // of the checks that are left, as the store has them
  std::string text;
  for (const gate::Check& check : checks_) {
    const auto match = job.snapshot->policies().named(check.policy, check.key, 0, text);
    const std::string key(match ? match->key : std::string_view());
    const auto found = match ? std::ranges::find(keys, key) : keys.end();
    const auto index = static_cast<std::size_t>(found - keys.begin());
    job.result_of.push_back(static_cast<std::uint8_t>(index));
    if (found == keys.end()) {
      keys.push_back(key);
      checks_[index] = check;
      continue;
    }
    std::uint64_t& cost = *checks_[index].cost;
    if (__builtin_add_overflow(cost, *check.cost, &cost)) cost = limit::Quota::cost_max;
  }
  checks_.resize(keys.size());
}

// Decides policies of the policy file by name: spends all charges or none, as all doors do.
std::optional<EnvoyFault> EnvoyDecider::decide_named(DecisionJob& job) {
  checks_.clear();
  for (const policy::Descriptor& descriptor : descriptors_) {
    const auto& entries = descriptor.entries;
    if (entries.size() != 2 || entries[0].key != "policy" || entries[1].key != "key") {
      return malformed("expected descriptors of two entries, policy and key, in the domain " +
                       policy::in_quotes(policy::reserved_domain));
    }
    checks_.push_back({entries[0].value, entries[1].value, descriptor.cost});
  }
  limit::Op op = ops_.front();
  if (std::any_of(ops_.begin(), ops_.end(), [op](limit::Op other) { return other != op; })) {
    return malformed("expected is_negative_hits of all descriptors or of none");
  }
  if (op == limit::Op::spend && std::all_of(checks_.begin(), checks_.end(),
                                            [](const auto& check) { return check.cost == 0; })) {
    op = limit::Op::peek;
  }
  const auto decide = [&] {
    return job.snapshot->gate().decide(checks_, op, worker_.moment(job), job.decision, job.begin());
  };
  auto fault = decide();
  if (fault && fault->reason == gate::CheckFault::Reason::asked_twice) {
    merge_checks(job);
    fault = decide();
  }
  if (!fault) return std::nullopt;
  const gate::Check& check = checks_[std::min(fault->check, checks_.size() - 1)];
  switch (fault->reason) {
    case gate::CheckFault::Reason::unknown_policy:
      return EnvoyFault{Kind::unknown, "there is no policy " + policy::in_quotes(check.policy)};
    case gate::CheckFault::Reason::asked_twice:
      return malformed("policy " + policy::in_quotes(check.policy) +
                       " is asked twice for the same key");
    case gate::CheckFault::Reason::too_many:
      return malformed("too many descriptors");
    case gate::CheckFault::Reason::too_long:  // not without a DueRoom
    case gate::CheckFault::Reason::out_of_memory:
      break;
  }
  return EnvoyFault{Kind::unavailable, "out of memory"};
}

void write_response(const DecisionJob& job, WorkerContext& worker,
                    pb::RateLimitResponse& response) {
  const gate::DecisionContext& context = job.decision;
  const bool denied = context.verdict.outcome == gate::Outcome::denied;
  response.set_overall_code(denied ? pb::RateLimitResponse::OVER_LIMIT : pb::RateLimitResponse::OK);
  // Not Clear(), which frees the memory in each status.
  auto& statuses = *response.mutable_statuses();
  const bool merged = !job.result_of.empty();
  const std::size_t count = merged ? job.result_of.size() : context.results.size();
  while (static_cast<std::size_t>(statuses.size()) > count) statuses.RemoveLast();
  while (static_cast<std::size_t>(statuses.size()) < count) statuses.Add();
  for (std::size_t i = 0; i < count; ++i) {
    const gate::CheckResult& result = context.results[merged ? job.result_of[i] : i];
    write_status(result, statuses[static_cast<int>(i)]);
  }
  response.clear_response_headers_to_add();
  std::array<char, 16 * 1024> fields;  // as HttpDoorContext::fields
  Writer out(fields);
  for (const gate::Line& line : worker.write_fields(job, out)) {
    add_header(line.name, line.value, response);
  }
  if (denied && context.verdict.retry_after) {
    add_header("Retry-After", std::to_string(*context.verdict.retry_after), response);
  }
}

}  // namespace headgate::server
