// One thread of the server: its connections, its doors, its worker.
#pragma once

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "headgate/server/door.h"
#include "headgate/server/listening.h"
#include "headgate/server/worker_context.h"

namespace headgate::server {

// The methods belong to the thread that made it.
class Worker {
 public:
  Worker(Engine& engine, const DoorOptions& options);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker();  // join() was called

  // Before start(): answers at a listening socket, which it owns from then on.
  void listen(const Listening& listening, int fd);

  void start();

  // Accepts nothing any more, lets the doors finish, and ends when they have.
  void stop();
  // Ends now.
  void abort();

  [[nodiscard]] bool ended() const noexcept { return ended_.load(std::memory_order_acquire); }
  void join();

 private:
  struct Listener;

  void accept(Listener& listener);

  const DoorOptions& options_;
  boost::asio::io_context io_{1};
  WorkerContext worker_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

}  // namespace headgate::server
