#include "headgate/server/envoy/json.h"

#include <google/protobuf/util/json_util.h>

#include <optional>
#include <string>

#include "headgate/server/envoy/decider.h"

namespace headgate::server {
namespace {

namespace pb = envoy::service::ratelimit::v3;

Content refusal(unsigned status, std::string what) {
  what += '\n';
  return {"text/plain", std::move(what), status};
}

Content finish(WorkerContext& worker, const DecisionJob& job) {
  pb::RateLimitResponse response;
  write_response(job, worker, response);
  worker.record(DoorKind::http, job);
  std::string text;
  if (!google::protobuf::util::MessageToJsonString(response, &text).ok()) {
    return refusal(500, "the answer can't be told as JSON");
  }
  const bool denied = response.overall_code() == pb::RateLimitResponse::OVER_LIMIT;
  return {"application/json", std::move(text), denied ? 429u : 200u};
}

std::optional<Content> begin(WorkerContext& worker, std::string_view body, DecisionJob& job) {
  // protobuf throws if the address behind its input is that of memory which it allocates itself, as
  // an allocator without headers may place it. Behind a string's bytes there is always its NUL.
  const std::string text(body);
  pb::RateLimitRequest request;
  google::protobuf::util::JsonParseOptions lenient;
  lenient.ignore_unknown_fields = true;  // of later versions of the protocol
  const auto read = google::protobuf::util::JsonStringToMessage(text, &request, lenient);
  if (!read.ok()) {
    return refusal(400, "expected a RateLimitRequest as JSON: " + read.message().ToString());
  }
  pb::RawRateLimitRequest raw;
  if (!raw.ParseFromString(request.SerializeAsString())) return refusal(503, "out of memory");
  EnvoyDecider decider(worker);
  if (auto fault = decider.decide(raw, job)) {
    return refusal(fault->kind == EnvoyFault::Kind::unavailable ? 503 : 400,
                   std::move(fault->what));
  }
  return job.is_decided() ? std::optional(finish(worker, job)) : std::nullopt;
}

}  // namespace

FormHandler envoy_json() { return {begin, finish}; }

}  // namespace headgate::server
