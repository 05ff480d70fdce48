#include "headgate/server/envoy/grpc_services.h"

#include <algorithm>
#include <exception>

#include "headgate/server/envoy/big_endian.h"
#include "headgate/server/envoy/grpc_message.h"

namespace headgate::server {
namespace {

using Health = grpc::health::v1::HealthCheckResponse;

GrpcStatus status_of(const EnvoyFault& fault) {
  switch (fault.kind) {
    case EnvoyFault::Kind::malformed:
      return {GrpcCode::invalid_argument, fault.what};
    case EnvoyFault::Kind::unknown:
      return {GrpcCode::not_found, fault.what};
    case EnvoyFault::Kind::unavailable:
      break;
  }
  return {GrpcCode::unavailable, fault.what};
}

template <class Message>
bool read(std::string_view bytes, Message& message) {
  return message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

GrpcStatus unreadable() { return {GrpcCode::internal, "the message is no valid protobuf"}; }

template <class Message>
void put(const Message& message, Http2String& answer) {
  const std::size_t size = message.ByteSizeLong();
  const std::size_t begin = answer.size();
  answer.resize(begin + GrpcMessage::prefix_bytes + size);
  char* const at = answer.data() + begin;
  at[0] = 0;  // not compressed
  const auto length = big_endian(static_cast<std::uint32_t>(size));
  std::copy(length.begin(), length.end(), at + 1);
  message.SerializeWithCachedSizesToArray(
      reinterpret_cast<std::uint8_t*>(at + GrpcMessage::prefix_bytes));
}

}  // namespace

GrpcServices::GrpcServices(WorkerContext& worker)
    : worker_(worker), decider_(worker), name_("envoy.service.ratelimit.v3.RateLimitService") {}

GrpcStatus GrpcServices::answer(GrpcMethod method, std::string_view request, Http2String& answer,
                                Job::Held<DecisionJob>& pending, Resume then) {
  if (method == GrpcMethod::should_rate_limit) return decide(request, answer, pending, then);
  if (!read(request, health_request_)) return unreadable();
  if (knows_service()) {
    put_health(answer);
    return {};
  }
  if (method == GrpcMethod::health_check) {
    return {GrpcCode::not_found, "there is no such service"};
  }
  health_response_.set_status(Health::SERVICE_UNKNOWN);
  put(health_response_, answer);
  return {};
}

void GrpcServices::put_health(Http2String& answer) {
  health_response_.set_status(stopped_ ? Health::NOT_SERVING : Health::SERVING);
  put(health_response_, answer);
}

void GrpcServices::put_denial(Http2String& answer) {
  response_.Clear();
  response_.set_overall_code(envoy::service::ratelimit::v3::RateLimitResponse::OVER_LIMIT);
  put(response_, answer);
}

GrpcStatus GrpcServices::decide(std::string_view request, Http2String& answer,
                                Job::Held<DecisionJob>& pending, Resume then) {
  DecisionJob* const job = worker_.begin();
  if (job == nullptr) {
    return {GrpcCode::unavailable, std::string(WorkerContext::too_many_wait)};
  }
  if (!read(request, request_)) return unreadable();
  try {
    if (const auto fault = decider_.decide(request_, *job)) return status_of(*fault);
  } catch (const std::exception& error) {
    return {GrpcCode::unavailable, error.what()};
  }
  if (job->is_decided()) {
    put_decision(*job, answer);
  } else {
    pending = worker_.lend(then);
  }
  return {};
}

void GrpcServices::put_decision(const DecisionJob& job, Http2String& answer) {
  write_response(job, worker_, response_);
  put(response_, answer);
  worker_.record(DoorKind::grpc, job);
}

}  // namespace headgate::server
