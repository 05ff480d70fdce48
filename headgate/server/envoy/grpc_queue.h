// A queue of gRPC's events, and what waits for them.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <mutex>
#include <utility>

namespace headgate::server {

// The tag of every event in a GrpcQueue.
class GrpcEvent {
 public:
  // On the queue's thread. `ok` as gRPC has it: false where there is nothing to go on with.
  virtual void happened(bool ok) = 0;

 protected:
  ~GrpcEvent() = default;
};

// run() belongs to one thread, the rest is thread-safe.
class GrpcQueue {
 public:
  explicit GrpcQueue(std::unique_ptr<grpc::ServerCompletionQueue> queue)
      : queue_(std::move(queue)) {}

  // Has `wait(queue)` tell gRPC that a call is waited for. Not after shut_down(), where gRPC would
  // abort. Returns whether it did.
  template <class Wait>
  bool wait_for_call(const Wait& wait) {
    const std::lock_guard lock(closing_);
    if (!closed_) wait(queue_.get());
    return !closed_;
  }

  // Lets events happen until the queue was shut down and is empty.
  void run() {
    void* tag = nullptr;
    bool ok = false;
    while (queue_->Next(&tag, &ok)) static_cast<GrpcEvent*>(tag)->happened(ok);
  }

  // Once the server has shut down, or never started.
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
