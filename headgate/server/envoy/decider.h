// Decides requests of Envoy's rate limit protocol, from message to message. docs/envoy.md.
#pragma once

#include <ratelimit.pb.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headgate/limit/law.h"
#include "headgate/policy/envoy/limit.h"
#include "headgate/policy/policy_set.h"
#include "headgate/server/worker_context.h"

namespace headgate::server {

// Why a request got no answer.
struct EnvoyFault {
  enum class Kind : std::uint8_t {
    malformed,  // the request is at fault
    unknown,    // it names a policy that does not exist
    unavailable,
  };
  Kind kind{};
  std::string what;  // for people
};

// Not thread-safe: one per worker.
class EnvoyDecider {
 public:
  // The most entries of a descriptor. Envoy's configurations have less than 10.
  static constexpr int entries_max = 64;

  explicit EnvoyDecider(WorkerContext& worker) : worker_(worker) {}

  // Decides with a job of WorkerContext::begin(). If that is outstanding then, nothing has to
  // last until its answer; if not, this decider lasts until the response is written. If a fault is
  // returned, nothing was decided.
  [[nodiscard]] std::optional<EnvoyFault> decide(
      const envoy::service::ratelimit::v3::RawRateLimitRequest& request, DecisionJob& job);

 private:
  using Request = envoy::service::ratelimit::v3::RawRateLimitRequest;

  // Limits that a request contains, by descriptor.
  struct OwnLimits {
    std::array<policy::EnvoyLimit, policy::policies_per_request_max> limits;
    std::array<policy::Grant, policy::policies_per_request_max> grants;
  };

  std::optional<EnvoyFault> read(const Request& request, const policy::PolicySet& policies);
  std::optional<EnvoyFault> read_limit(
      const envoy::service::ratelimit::v3::RateLimitDescriptor::RateLimitOverride& limit,
      const policy::Policy& domain, std::size_t index);
  std::optional<EnvoyFault> decide_named(DecisionJob& job);
  void merge_checks(DecisionJob& job);

  WorkerContext& worker_;

  // The content of one request. Members, so that the next request reuses their memory.
  std::vector<policy::DescriptorEntry> entries_;
  std::vector<policy::Descriptor> descriptors_;
  std::vector<limit::Op> ops_;
  std::vector<gate::Check> checks_;
  bool has_own_limits_ = false;
  std::shared_ptr<OwnLimits> own_limits_;
};

// Writes the response of a decision that is there. Replaces the content of `response` and reuses
// its memory.
void write_response(const DecisionJob& job, WorkerContext& worker,
                    envoy::service::ratelimit::v3::RateLimitResponse& response);

}  // namespace headgate::server
