#include "headgate/server/grpc_door.h"

#include <grpcpp/ext/health_check_service_server_builder_option.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>
#include <ratelimit.grpc.pb.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "headgate/server/endpoint.h"
#include "headgate/server/envoy_desk.h"
#include "headgate/server/same_secret.h"
#include "headgate/server/station.h"

namespace headgate::server {
namespace {

namespace pb = envoy::service::ratelimit::v3;
using AsyncService = pb::RateLimitService::AsyncService;
using Clock = std::chrono::steady_clock;

constexpr int message_bytes_max = 64 * 1024;
constexpr int metadata_bytes_max = 16 * 1024;
constexpr int streams_max = 4096;                           // of one connection
constexpr std::size_t memory_max = std::size_t{256} << 20;  // of all connections together
constexpr int calls_a_thread = 256;  // that are ready for a request; more wait inside gRPC
// A call takes microseconds. What is still there after this time is the watch of a health check.
constexpr std::chrono::seconds grace{1};

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

// One thread, its queue of events, and the calls that it answers.
class Lane {
 public:
  Lane(Engine& engine, const std::string& token, AsyncService& service,
       std::unique_ptr<grpc::ServerCompletionQueue> queue)
      : station_(engine),
        desk_(station_),
        token_(token),
        service_(service),
        queue_(std::move(queue)) {}
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  void start() {
    thread_ = std::thread([this] { run(); });
  }

  // After the server has shut down: lets the thread see the end of every call.
  void shut_down() {
    {
      const std::lock_guard lock(closing_);
      closed_ = true;
    }
    queue_->Shutdown();
  }
  void join() { thread_.join(); }
  // Of a server that never started.
  void drain() {
    void* tag = nullptr;
    bool ok = false;
    while (queue_->Next(&tag, &ok)) {
    }
  }

 private:
  // Waits for a request, then for its answer to be sent, and begins anew.
  struct Call {
    std::optional<grpc::ServerContext> context;
    std::optional<grpc::ServerAsyncResponseWriter<pb::RateLimitResponse>> writer;
    pb::RateLimitRequest request;
    pb::RateLimitResponse response;
    bool answered = false;
  };

  void run() {
    for (int i = 0; i < calls_a_thread; ++i) wait_for_request(calls_.emplace_back());
    void* tag = nullptr;
    bool ok = false;
    while (queue_->Next(&tag, &ok)) {
      Call& call = *static_cast<Call*>(tag);
      if (call.answered) {
        wait_for_request(call);
      } else if (ok) {
        answer(call);
      }  // else the server is shutting down: there will be no request
    }
  }

  void wait_for_request(Call& call) {
    call.answered = false;
    call.writer.reset();
    const std::lock_guard lock(closing_);
    if (closed_) return;
    call.context.emplace();
    call.writer.emplace(&*call.context);
    service_.RequestShouldRateLimit(&*call.context, &call.request, &*call.writer, queue_.get(),
                                    queue_.get(), &call);
  }

  void answer(Call& call) {
    const auto begin = Clock::now();
    call.answered = true;
    call.response.Clear();
    if (const grpc::Status status = decide(call); status.ok()) {
      call.writer->Finish(call.response, status, &call);
      desk_.told(DoorKind::grpc, (Clock::now() - begin).count());
    } else {
      call.writer->FinishWithError(status, &call);
    }
  }

  grpc::Status decide(Call& call) {
    if (!token_.empty() && !shows_token(*call.context, token_)) {
      return {grpc::StatusCode::UNAUTHENTICATED,
              "expected authorization: Bearer TOKEN, with this server's token"};
    }
    try {
      const auto fault = desk_.decide(call.request, call.response);
      return fault ? status_of(*fault) : grpc::Status::OK;
    } catch (const std::exception& error) {
      return {grpc::StatusCode::UNAVAILABLE, error.what()};
    }
  }

  Station station_;
  EnvoyDesk desk_;
  const std::string& token_;
  AsyncService& service_;
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::deque<Call> calls_;
  std::mutex closing_;  // gRPC aborts where a queue that was shut down is to wait for a request
  bool closed_ = false;
  std::thread thread_;
};

class GrpcService final : public Service {
 public:
  explicit GrpcService(const DoorOptions& options) : token_(options.token) {}
  ~GrpcService() override { stop(Clock::now()); }

  // An error, or nothing.
  std::optional<std::string> start(Engine& engine, const Endpoint& endpoint,
                                   const DoorOptions& options) {
    grpc::EnableDefaultHealthCheckService(true);
    const auto millis = [](std::chrono::seconds time) {
      return static_cast<int>(std::min<std::int64_t>(time.count(), 1'000'000) * 1000);
    };
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort(endpoint.text(), grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&service_);
    builder.SetMaxReceiveMessageSize(message_bytes_max);
    builder.SetResourceQuota(grpc::ResourceQuota("headgate").Resize(memory_max));
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);  // a port in use is a fault
    builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, metadata_bytes_max);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, streams_max);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, millis(options.idle));
    builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, millis(options.patience));
    const unsigned threads =
        options.threads > 0 ? options.threads : std::max(1u, std::thread::hardware_concurrency());
    for (unsigned i = 0; i < threads; ++i) {
      lanes_.emplace_back(engine, token_, service_, builder.AddCompletionQueue());
    }
    server_ = builder.BuildAndStart();
    if (server_ == nullptr) {
      for (Lane& lane : lanes_) {
        lane.shut_down();
        lane.drain();
      }
      lanes_.clear();
      return why_not(endpoint);
    }
    address_ = endpoint.text();
    if (!endpoint.is_unix()) {
      address_.resize(address_.rfind(':') + 1);
      address_ += std::to_string(port);
    }
    server_->GetHealthCheckService()->SetServingStatus(pb::RateLimitService::service_full_name(),
                                                       true);
    for (Lane& lane : lanes_) lane.start();
    return std::nullopt;
  }

  [[nodiscard]] const std::string& address() const noexcept override { return address_; }

  void stop(Clock::time_point deadline) noexcept override {
    if (server_ == nullptr) return;
    server_->GetHealthCheckService()->Shutdown();
    const auto left = std::clamp<Clock::duration>(deadline - Clock::now(), {}, grace);
    server_->Shutdown(std::chrono::system_clock::now() + left);
    for (Lane& lane : lanes_) lane.shut_down();
    for (Lane& lane : lanes_) lane.join();
    lanes_.clear();
    server_.reset();
  }

 private:
  // gRPC does not say it.
  static std::string why_not(Endpoint endpoint) {
    const auto probe = endpoint.listen();
    if (!probe) return probe.error();
    close(*probe);
    endpoint.remove();
    return "can't listen on " + endpoint.text();
  }

  const std::string token_;
  AsyncService service_;
  std::deque<Lane> lanes_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

// What gRPC has to say goes into our log, its everyday errors (a client that left) aside.
void take_over_log() {
  gpr_set_log_verbosity(GPR_LOG_SEVERITY_ERROR);
  gpr_set_log_function([](gpr_log_func_args* line) { spdlog::debug("gRPC: {}", line->message); });
}

}  // namespace

Result<std::unique_ptr<Service>, std::string> make_grpc_service(Engine& engine,
                                                                const Endpoint& endpoint,
                                                                const DoorOptions& options) {
  take_over_log();
  auto service = std::make_unique<GrpcService>(options);
  if (auto error = service->start(engine, endpoint, options)) {
    return Failure<std::string>(*std::move(error));
  }
  return service;
}

}  // namespace headgate::server
