#include "headgate/server/envoy/grpc_door.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/resource_quota.h>
#include <ratelimit.grpc.pb.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "headgate/net/endpoint.h"
#include "headgate/server/envoy/decider.h"
#include "headgate/server/envoy/grpc_health.h"
#include "headgate/server/envoy/grpc_listener.h"
#include "headgate/server/envoy/grpc_queue.h"
#include "headgate/server/same_secret.h"
#include "headgate/server/worker_context.h"

namespace headgate::server {
namespace {

namespace pb = envoy::service::ratelimit::v3;
using AsyncService = pb::RateLimitService::AsyncService;
using Clock = std::chrono::steady_clock;

constexpr int message_bytes_max = 64 * 1024;   // as a body of the HTTP door
constexpr int metadata_bytes_max = 16 * 1024;  // as the head of a request of the HTTP door
// Open calls per connection: more than an Envoy has requests in flight per worker.
constexpr int streams_max = 4096;
// The memory of all connections together, so that clients cannot exhaust the machine's: 20,000
// connections with 12 KiB each.
constexpr std::size_t memory_max = std::size_t{256} << 20;
// Calls per thread that are ready to receive a request; further calls wait inside gRPC. More than a
// thread receives between two turns of its queue.
constexpr int calls_per_thread = 256;

constexpr auto from_fd = grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD;

grpc::Status status_of(const EnvoyFault& fault) {
  switch (fault.kind) {
    case EnvoyFault::Kind::malformed:
      return {grpc::StatusCode::INVALID_ARGUMENT, fault.what};
    case EnvoyFault::Kind::unknown:
      return {grpc::StatusCode::NOT_FOUND, fault.what};
    case EnvoyFault::Kind::unavailable:
      break;
  }
  return {grpc::StatusCode::UNAVAILABLE, fault.what};
}

bool shows_token(const grpc::ServerContext& context, std::string_view token) {
  constexpr std::string_view scheme = "Bearer ";
  const auto [begin, end] = context.client_metadata().equal_range("authorization");
  if (begin == end || std::next(begin) != end) return false;
  const std::string_view given(begin->second.data(), begin->second.size());
  return given.starts_with(scheme) && same_secret(given.substr(scheme.size()), token);
}

// A thread with its queue of events and the calls that it answers.
class CallLoop {
 public:
  CallLoop(Engine& engine, Credentials& credentials, AsyncService& service,
           GrpcHealth::Service& health, std::unique_ptr<grpc::ServerCompletionQueue> queue)
      : worker_(engine),
        decider_(worker_),
        credentials_(credentials),
        service_(service),
        queue_(std::move(queue)),
        health_(health, queue_, pb::RateLimitService::service_full_name()) {}
  CallLoop(const CallLoop&) = delete;
  CallLoop& operator=(const CallLoop&) = delete;

  void start() {
    thread_ = std::thread([this] {
      for (int i = 0; i < calls_per_thread; ++i) calls_.emplace_back(*this).wait();
      health_.start();
      queue_.run();
    });
  }

  // Health reports NOT_SERVING from now on.
  void retire() noexcept { health_.stop(); }

  // Called after the server has shut down, or if it never started: waits for the end of all calls.
  void end() {
    queue_.shut_down();
    if (thread_.joinable()) {
      thread_.join();
    } else {
      queue_.run();
    }
  }

 private:
  // Waits for a request, then until its answer is sent, and starts again.
  class Call final : public GrpcEvent {
   public:
    explicit Call(CallLoop& loop) : loop_(loop) {}

    void wait() {
      answered_ = false;
      writer_.reset();
      context_.emplace();
      writer_.emplace(&*context_);
      loop_.queue_.wait_for_call([this](grpc::ServerCompletionQueue* queue) {
        loop_.service_.RequestShouldRateLimit(&*context_, &request_, &*writer_, queue, queue, this);
      });
    }

    void happened(bool ok) override {
      if (answered_) return wait();
      if (!ok) return;  // the server is shutting down
      const auto begin = Clock::now();
      answered_ = true;
      if (const grpc::Status status = loop_.decide(*context_, request_, response_); status.ok()) {
        writer_->Finish(response_, status, this);
        loop_.decider_.record(DoorKind::grpc, (Clock::now() - begin).count());
      } else {
        writer_->FinishWithError(status, this);
      }
    }

   private:
    CallLoop& loop_;
    std::optional<grpc::ServerContext> context_;
    std::optional<grpc::ServerAsyncResponseWriter<pb::RateLimitResponse>> writer_;
    pb::RateLimitRequest request_;
    pb::RateLimitResponse response_;
    bool answered_ = false;
  };

  grpc::Status decide(const grpc::ServerContext& context, const pb::RateLimitRequest& request,
                      pb::RateLimitResponse& response) {
    const auto secrets = credentials_.in_force();
    if (secrets->wants_token() && !shows_token(context, secrets->token)) {
      return {grpc::StatusCode::UNAUTHENTICATED,
              "expected authorization: Bearer TOKEN, with this server's token"};
    }
    try {
      const auto fault = decider_.decide(request, response);
      return fault ? status_of(*fault) : grpc::Status::OK;
    } catch (const std::exception& error) {
      return {grpc::StatusCode::UNAVAILABLE, error.what()};
    }
  }

  WorkerContext worker_;
  EnvoyDecider decider_;
  Credentials& credentials_;
  AsyncService& service_;
  GrpcQueue queue_;
  GrpcHealth health_;
  std::deque<Call> calls_;
  std::thread thread_;
};

class GrpcService final : public Service {
 public:
  explicit GrpcService(const DoorOptions& options) : credentials_(options.credentials) {}
  ~GrpcService() override { stop(Clock::now()); }

  // Returns an error, or std::nullopt if the service has started.
  std::optional<std::string> start(Engine& engine, net::Endpoint& endpoint,
                                   const DoorOptions& options) {
    // gRPC's times are an int of milliseconds: at most 1,000,000 s (11 days).
    const auto millis = [](std::chrono::seconds time) {
      return static_cast<int>(std::min<std::int64_t>(time.count(), 1'000'000) * 1000);
    };
    const auto fd = endpoint.listen();
    if (!fd) return fd.error();
    grpc::ServerBuilder builder;
    listener_ =
        std::make_unique<GrpcListener>(engine, *fd, options.connections_max * options.threads,
                                       builder.experimental().AddExternalConnectionAcceptor(
                                           from_fd, grpc::InsecureServerCredentials()));
    builder.RegisterService(&service_);
    builder.RegisterService(&health_);
    builder.SetMaxReceiveMessageSize(message_bytes_max);
    builder.SetResourceQuota(grpc::ResourceQuota("headgate").Resize(memory_max));
    builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, metadata_bytes_max);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, streams_max);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, millis(options.idle));
    builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, millis(options.patience));
    for (unsigned i = 0; i < options.threads; ++i) {
      loops_.emplace_back(engine, *credentials_, service_, health_, builder.AddCompletionQueue());
    }
    server_ = builder.BuildAndStart();
    if (server_ == nullptr) {
      for (CallLoop& loop : loops_) loop.end();
      loops_.clear();
      return "gRPC can't serve " + endpoint.text();
    }
    for (CallLoop& loop : loops_) loop.start();
    if (listener_->start()) return std::nullopt;
    stop(Clock::now());
    return "can't wait for connections to " + endpoint.text();
  }

  void retire() noexcept override {
    if (server_ == nullptr) return;
    listener_->stop();
    for (CallLoop& loop : loops_) loop.retire();
  }

  void stop(Clock::time_point deadline) noexcept override {
    if (server_ == nullptr) return;
    retire();
    const auto left = std::max(deadline - Clock::now(), Clock::duration::zero());
    server_->Shutdown(std::chrono::system_clock::now() + left);
    for (CallLoop& loop : loops_) loop.end();
    loops_.clear();
    server_.reset();
  }

 private:
  const std::shared_ptr<Credentials> credentials_;
  AsyncService service_;
  GrpcHealth::Service health_;
  std::deque<CallLoop> loops_;
  std::unique_ptr<GrpcListener> listener_;
  std::unique_ptr<grpc::Server> server_;
};

// Writes gRPC's log into ours, with the level debug because gRPC reports each client that
// disconnects as an error.
void redirect_log() {
  gpr_set_log_verbosity(GPR_LOG_SEVERITY_ERROR);
  gpr_set_log_function([](gpr_log_func_args* line) { spdlog::debug("gRPC: {}", line->message); });
}

}  // namespace

Result<std::unique_ptr<Service>, std::string> make_grpc_service(Engine& engine,
                                                                net::Endpoint& endpoint,
                                                                const DoorOptions& options) {
  redirect_log();
  auto service = std::make_unique<GrpcService>(options);
  if (auto error = service->start(engine, endpoint, options)) {
    return Failure<std::string>(*std::move(error));
  }
  return service;
}

}  // namespace headgate::server
