// A queue of gRPC's events, and the objects that wait for them.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <mutex>
#include <utility>

namespace headgate::server {

// The tag of every event in a GrpcQueue.
class GrpcEvent {
 public:
  // Called on the queue's thread. `ok` is gRPC's: false if the operation did not complete.
  virtual void happened(bool ok) = 0;

 protected:
  ~GrpcEvent() = default;
};

// run() belongs to one thread, the rest is thread-safe.
class GrpcQueue {
 public:
  explicit GrpcQueue(std::unique_ptr<grpc::ServerCompletionQueue> queue)
      : queue_(std::move(queue)) {}

  // Calls `wait(queue)`, which requests a call of gRPC. After shut_down() does nothing, because
  // gRPC would abort. Returns whether `wait` was called.
  template <class Wait>
  bool wait_for_call(const Wait& wait) {
    const std::lock_guard lock(closing_);
    if (!closed_) wait(queue_.get());
    return !closed_;
  }

  // Handles events until the queue is shut down and empty.
  void run() {
    void* tag = nullptr;
    bool ok = false;
    while (queue_->Next(&tag, &ok)) static_cast<GrpcEvent*>(tag)->happened(ok);
  }

  // Called after the server has shut down, or if it never started.
  void shut_down() {
    const std::lock_guard lock(closing_);
    closed_ = true;
    queue_->Shutdown();
  }

 private:
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::mutex closing_;
  bool closed_ = false;
};

}  // namespace headgate::server
