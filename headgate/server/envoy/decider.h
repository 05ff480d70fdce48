// Decides requests of Envoy's rate limit protocol, from message to message. docs/envoy.md.
#pragma once

#include <ratelimit.pb.h>

#include <array>
#include <cstdint>
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

  // Replaces the content of `response` and reuses its memory. If a fault is returned, nothing was
  // decided.
  [[nodiscard]] std::optional<EnvoyFault> decide(
      const envoy::service::ratelimit::v3::RateLimitRequest& request,
      envoy::service::ratelimit::v3::RateLimitResponse& response);

  // Records the last decision in the worker's statistics, after its reply. `took` is the time from
  // the request to the reply [ns].
  void record(DoorKind door, Nanos took) noexcept {
    worker_.stats().decided(door, *decided_by_, worker_.decision_context(), took);
  }

 private:
  using Request = envoy::service::ratelimit::v3::RateLimitRequest;
  using Response = envoy::service::ratelimit::v3::RateLimitResponse;

  std::optional<EnvoyFault> read(const Request& request, const policy::PolicySet& policies);
  std::optional<EnvoyFault> read_limit(
      const envoy::service::ratelimit::v3::RateLimitDescriptor::RateLimitOverride& limit,
      const limit::Terms& terms, std::size_t index);
  std::optional<EnvoyFault> decide_named(const gate::Gate& gate);
  void answer(Response& response);

  WorkerContext& worker_;
  const PolicySnapshot* decided_by_ = nullptr;  // valid until the next call of in_force()

  // The content of one request. Members, so that the next request reuses their memory.
  std::vector<policy::DescriptorEntry> entries_;
  std::vector<policy::Descriptor> descriptors_;
  std::vector<limit::Op> ops_;
  std::vector<gate::Check> checks_;
  // Limits that the request contains.
  std::array<policy::EnvoyLimit, policy::policies_max> limits_;
  std::array<policy::Grant, policy::policies_max> grants_;
  std::array<char, 16 * 1024> fields_;  // as HttpDoorContext::fields
};

}  // namespace headgate::server
