// The methods that the gRPC door answers.
#pragma once

#include <health.pb.h>
#include <ratelimit.pb.h>

#include <string>
#include <string_view>

#include "headgate/server/envoy/decider.h"
#include "headgate/server/envoy/grpc_head.h"
#include "headgate/server/envoy/grpc_status.h"
#include "headgate/server/envoy/http2_memory.h"
#include "headgate/server/worker_context.h"

namespace headgate::server {

// Not thread-safe: one per worker and door.
class GrpcServices {
 public:
  explicit GrpcServices(WorkerContext& worker);

  // Appends the framed answer to a request, in protobuf, if the status is ok; or sets `pending`, if
  // its decision is outstanding: `then` is called when put_decision() may be. Throws
  // std::bad_alloc.
  [[nodiscard]] GrpcStatus answer(GrpcMethod method, std::string_view request, Http2String& answer,
                                  Job::Held<DecisionJob>& pending, Resume then);
  // Appends the framed answer that a decision makes. Throws std::bad_alloc.
  void put_decision(const DecisionJob& job, Http2String& answer);

  // Appends the framed answer that denies a request which was not read. Throws std::bad_alloc.
  void put_denial(Http2String& answer);

  // Health is NOT_SERVING from now on.
  void stop() noexcept { stopped_ = true; }
  [[nodiscard]] bool is_stopped() const noexcept { return stopped_; }

  // Appends a framed message with the status of the server.
  void put_health(Http2String& answer);

 private:
  GrpcStatus decide(std::string_view request, Http2String& answer, Job::Held<DecisionJob>& pending,
                    Resume then);
  [[nodiscard]] bool knows_service() const {
    return health_request_.service().empty() || health_request_.service() == name_;
  }

  WorkerContext& worker_;
  EnvoyDecider decider_;
  const std::string name_;  // of the only service that has a health of its own
  bool stopped_ = false;
  // Members, so that the next call reuses their memory.
  envoy::service::ratelimit::v3::RawRateLimitRequest request_;
  envoy::service::ratelimit::v3::RateLimitResponse response_;
  grpc::health::v1::HealthCheckRequest health_request_;
  grpc::health::v1::HealthCheckResponse health_response_;
};

}  // namespace headgate::server
