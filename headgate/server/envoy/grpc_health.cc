#include "headgate/server/envoy/grpc_health.h"

#include <optional>
#include <utility>

namespace headgate::server {

namespace pb = grpc::health::v1;

// Waits for a Check, then until its answer is sent, and starts again.
class GrpcHealth::Check final : public GrpcEvent {
 public:
  explicit Check(GrpcHealth& health) : health_(health) {}

  void wait() {
    answered_ = false;
    writer_.reset();
    context_.emplace();
    writer_.emplace(&*context_);
    health_.queue_.wait_for_call([this](grpc::ServerCompletionQueue* queue) {
      health_.service_.RequestCheck(&*context_, &request_, &*writer_, queue, queue, this);
    });
  }

  void happened(bool ok) override {
    if (answered_) return wait();
    if (!ok) return;  // the server is shutting down
    answered_ = true;
    if (!health_.has(request_.service())) {
      return writer_->FinishWithError({grpc::StatusCode::NOT_FOUND, "there is no such service"},
                                      this);
    }
    pb::HealthCheckResponse response;
    const std::lock_guard lock(health_.mutex_);
    response.set_status(health_.stopped_ ? pb::HealthCheckResponse::NOT_SERVING
                                         : pb::HealthCheckResponse::SERVING);
    writer_->Finish(response, grpc::Status::OK, this);
  }

 private:
  GrpcHealth& health_;
  std::optional<grpc::ServerContext> context_;
  std::optional<grpc::ServerAsyncResponseWriter<pb::HealthCheckResponse>> writer_;
  pb::HealthCheckRequest request_;
  bool answered_ = false;
};

// One stream: sends the status, and NOT_SERVING when the server stops, unless the client has left
// before. Deletes itself when no further event can happen.
class GrpcHealth::Watch final : public GrpcEvent {
 public:
  explicit Watch(GrpcHealth& health) : health_(health), writer_(&context_), ended_(*this) {
    context_.AsyncNotifyWhenDone(&ended_);
  }

  // Makes a Watch that waits for a call. Deletes it if the queue is shut down.
  static void wait(GrpcHealth& health) {
    auto* watch = new Watch(health);
    const bool waits = health.queue_.wait_for_call([watch](grpc::ServerCompletionQueue* queue) {
      watch->health_.service_.RequestWatch(&watch->context_, &watch->request_, &watch->writer_,
                                           queue, queue, watch);
    });
    if (!waits) delete watch;
  }

  void happened(bool ok) override {
    if (state_ == State::waiting) return ok ? begin() : delete this;
    const std::lock_guard lock(health_.mutex_);
    if (state_ == State::writing) {
      state_ = State::idle;
      if (health_.stopped_ && ok) finish();
    } else {
      state_ = State::finished;
    }
    leave();
  }

  // Sends NOT_SERVING and ends the stream. Under the lock.
  void finish() {
    if (state_ != State::idle || gone_) return;
    state_ = State::finishing;
    pb::HealthCheckResponse response;
    response.set_status(pb::HealthCheckResponse::NOT_SERVING);
    writer_.WriteAndFinish(response, {}, grpc::Status::OK, this);
  }

 private:
  enum class State { waiting, writing, idle, finishing, finished };

  // The event that the call has ended in any way.
  class Ended final : public GrpcEvent {
   public:
    explicit Ended(Watch& watch) : watch_(watch) {}
    void happened(bool) override {
      const std::lock_guard lock(watch_.health_.mutex_);
      watch_.gone_ = true;
      watch_.leave();
    }

   private:
    Watch& watch_;
  };

  void begin() {
    wait(health_);  // the next one
    const std::lock_guard lock(health_.mutex_);
    health_.watches_.insert(this);
    if (health_.watches_.size() > watches_max) {
      state_ = State::finishing;
      return writer_.Finish({grpc::StatusCode::RESOURCE_EXHAUSTED, "too many watch already"}, this);
    }
    pb::HealthCheckResponse response;
    response.set_status(health_.has(request_.service()) ? pb::HealthCheckResponse::SERVING
                                                        : pb::HealthCheckResponse::SERVICE_UNKNOWN);
    state_ = State::writing;
    writer_.Write(response, this);
  }

  // Deletes this if no event can happen any more. Under the lock.
  void leave() {
    const bool owed = state_ == State::writing || state_ == State::finishing;
    if (!gone_ || owed) return;
    health_.watches_.erase(this);
    delete this;
  }

  GrpcHealth& health_;
  grpc::ServerContext context_;
  grpc::ServerAsyncWriter<pb::HealthCheckResponse> writer_;
  pb::HealthCheckRequest request_;
  Ended ended_;
  State state_ = State::waiting;
  bool gone_ = false;  // `ended_` has happened
};

GrpcHealth::GrpcHealth(Service& service, GrpcQueue& queue, std::string name)
    : service_(service), queue_(queue), name_(std::move(name)) {}

GrpcHealth::~GrpcHealth() = default;

void GrpcHealth::start() {
  constexpr int checks_ready = 4;  // health checks are rare: further ones wait inside gRPC
  for (int i = 0; i < checks_ready; ++i) {
    checks_.push_back(std::make_unique<Check>(*this));
    checks_.back()->wait();
  }
  Watch::wait(*this);
}

void GrpcHealth::stop() noexcept {
  const std::lock_guard lock(mutex_);
  if (std::exchange(stopped_, true)) return;
  for (Watch* watch : watches_) watch->finish();
}

}  // namespace headgate::server
