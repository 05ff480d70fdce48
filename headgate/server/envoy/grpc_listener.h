// Accepts connections for gRPC, whose own listeners neither count connections nor limit them.
#pragma once

#include <grpcpp/grpcpp.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <list>
#include <memory>
#include <thread>

#include "headgate/server/ready_set.h"
#include "headgate/server/worker_context.h"

namespace headgate::server {

// The methods are called by the thread that made it.
class GrpcListener {
 public:
  using Grpc = grpc::experimental::ExternalConnectionAcceptor;

  // Owns `fd`, a listening, non-blocking socket, and hands its connections to `grpc`; those beyond
  // `connections_max` at once are closed.
  GrpcListener(Engine& engine, int fd, std::size_t connections_max, std::unique_ptr<Grpc> grpc);
  GrpcListener(const GrpcListener&) = delete;
  GrpcListener& operator=(const GrpcListener&) = delete;
  ~GrpcListener();

  // Called after gRPC's server has started. Returns false if the system cannot watch more sockets.
  [[nodiscard]] bool start();

  // Stops accepting. The connections stay open, since gRPC owns them.
  void stop() noexcept;

 private:
  // gRPC does not report the end of a connection, but shuts its socket down. So we watch a second
  // descriptor of the same socket for the end.
  struct Connection {
    int watched;
    std::list<Connection>::iterator self;
  };

  void serve(ReadySet::Ready ready);
  void accept();
  void take_over(int fd);
  void forget(Connection& connection) noexcept;

  int fd_;
  const std::size_t connections_max_;
  const std::unique_ptr<Grpc> grpc_;
  WorkerContext worker_;
  std::list<Connection> connections_;
  boost::asio::io_context io_{1};
  ReadySet ready_;
  boost::asio::steady_timer pausing_;
  std::thread thread_;
};

}  // namespace headgate::server
