// gRPC's health checks on a queue of ours. The ones that grpc++ brings along start threads that
// poll everybody's connections, which costs each other call a third of its time.
#pragma once

#include <health.grpc.pb.h>

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "headgate/server/envoy/grpc_queue.h"

namespace headgate::server {

// Everything but stop() happens on the queue's thread. Destroyed after the queue has run empty.
class GrpcHealth {
 public:
  using Service = grpc::health::v1::Health::AsyncService;

  // The most streams of Watch that one queue keeps.
  static constexpr std::size_t watches_max = 1000;

  // `name` is the one service that there is, beside "", the whole server.
  GrpcHealth(Service& service, GrpcQueue& queue, std::string name);
  ~GrpcHealth();
  GrpcHealth(const GrpcHealth&) = delete;
  GrpcHealth& operator=(const GrpcHealth&) = delete;

  void start();

  // Says NOT_SERVING from now on, and so ends the streams of Watch. Any thread.
  void stop() noexcept;

 private:
  class Check;
  class Watch;

  [[nodiscard]] bool knows(const std::string& service) const {
    return service.empty() || service == name_;
  }

  Service& service_;
  GrpcQueue& queue_;
  const std::string name_;
  std::mutex mutex_;  // guards everything below, and the watches
  bool stopped_ = false;
  std::vector<std::unique_ptr<Check>> checks_;
  std::set<Watch*> watches_;
};

}  // namespace headgate::server
