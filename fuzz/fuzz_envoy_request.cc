// Any bytes as a request of Envoy's rate limit protocol, in protobuf or in JSON, are answered for
// each descriptor or refused with words.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>

#include "headgate/server/engine.h"
#include "headgate/server/envoy/decider.h"
#include "headgate/server/envoy/json.h"

namespace {

using namespace headgate;
namespace pb = envoy::service::ratelimit::v3;

void require(bool holds) {
  if (!holds) std::abort();
}

std::unique_ptr<server::Engine> open() {
  const auto home = std::filesystem::temp_directory_path() / ("fuzz" + std::to_string(getpid()));
  std::filesystem::create_directory(home);
  std::ofstream(home / "d")
      << "domain: d\n"
         "descriptors:\n"
         "- {key: a, rate_limit: {unit: year, requests_per_unit: 9}}\n"
         "- {key: a, value: x*, shadow_mode: on, "
         "rate_limit: {unit: day, requests_per_unit: 2, name: n}}\n"
         "- {key: b, quota_mode: on, descriptors: [{key: c, "
         "rate_limit: {unit: week, requests_per_unit: 1, replaces: [{name: n}]}}]}\n"
         "- {key: u, rate_limit: {unlimited: on}}\n";
  std::ofstream(home / "f") << "version: 1\n"
                               "policies: [{name: p, quota: 3, window: 1h, key: []}]\n"
                               "store: {table: {memory: 1MiB}}\n"
                               "envoy: [d]\n";
  auto engine = server::Engine::open((home / "f").string());
  std::filesystem::remove_all(home);
  require(engine.has_value());
  return *std::move(engine);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto engine = open();
  static server::WorkerContext worker(*engine);
  static server::EnvoyDecider decider(worker);

  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto page = server::envoy_json().begin(worker, input, *worker.begin());
  const unsigned status = page.value().status;
  require(status == 200 || status == 429 || status == 400);

  pb::RawRateLimitRequest request;
  if (!request.ParseFromArray(data, static_cast<int>(size))) return 0;
  server::DecisionJob& job = *worker.begin();
  if (const auto fault = decider.decide(request, job)) {
    require(!fault->what.empty());
    return 0;
  }
  pb::RateLimitResponse response;
  server::write_response(job, worker, response);
  require(response.statuses_size() == request.descriptors_size());
  require(response.overall_code() != pb::RateLimitResponse::UNKNOWN);
  for (const auto& one : response.statuses()) require(one.code() != pb::RateLimitResponse::UNKNOWN);
  return 0;
}
