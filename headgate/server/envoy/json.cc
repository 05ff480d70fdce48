#include "headgate/server/envoy/json.h"

#include <google/protobuf/util/json_util.h>

#include <chrono>
#include <memory>

#include "headgate/server/envoy/decider.h"

namespace headgate::server {
namespace {

namespace pb = envoy::service::ratelimit::v3;

Content refusal(unsigned status, std::string what) {
  what += '\n';
  return {"text/plain", std::move(what), status};
}

}  // namespace

Content envoy_json(Engine&, WorkerContext& worker, std::string_view, std::string_view body) {
  using google::protobuf::StringPiece;
  pb::RateLimitRequest request;
  google::protobuf::util::JsonParseOptions lenient;
  lenient.ignore_unknown_fields = true;  // of later versions of the protocol
  const auto read = google::protobuf::util::JsonStringToMessage(
      StringPiece(body.data(), body.size()), &request, lenient);
  if (!read.ok()) {
    return refusal(400, "expected a RateLimitRequest as JSON: " + read.message().ToString());
  }
  pb::RateLimitResponse response;
  const auto begin = std::chrono::steady_clock::now();
  const auto decider = std::make_unique<EnvoyDecider>(worker);
  if (auto fault = decider->decide(request, response)) {
    return refusal(fault->kind == EnvoyFault::Kind::unavailable ? 503 : 400,
                   std::move(fault->what));
  }
  decider->record(DoorKind::http, (std::chrono::steady_clock::now() - begin).count());
  std::string text;
  if (!google::protobuf::util::MessageToJsonString(response, &text).ok()) {
    return refusal(500, "the answer can't be told as JSON");
  }
  const bool denied = response.overall_code() == pb::RateLimitResponse::OVER_LIMIT;
  return {"application/json", std::move(text), denied ? 429u : 200u};
}

}  // namespace headgate::server
