// One thread of the server, with its doors and their connections.
#pragma once

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "headgate/server/answer_loop.h"
#include "headgate/server/door.h"
#include "headgate/server/handler_memory.h"
#include "headgate/server/listening.h"
#include "headgate/server/worker_context.h"

namespace headgate::server {

// Runs a thread that accepts connections and serves them. WorkerContext has what this thread's
// doors use to decide. The methods are called by the thread that made the Worker.
class Worker {
 public:
  Worker(Engine& engine, const DoorOptions& options);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker();  // as end()

  // Before start(): adds a listening socket, which the Worker then owns.
  void listen(const Listening& listening, int fd);

  // Throws std::system_error if the system has no thread left, and std::bad_alloc. The thread needs
  // no memory to go on: what fails for want of it ends one connection at most.
  void start();

  // Stops accepting; the thread ends when its doors have answered the requests that have begun. To
  // be called once.
  void stop() noexcept;
  [[nodiscard]] bool ended() const noexcept { return ended_.load(std::memory_order_acquire); }
  // The thread ends now, if it was started.
  void end() noexcept;

 private:
  struct Listener;

  void accept(Listener& listener) noexcept;
  void pause(Listener& listener) noexcept;

  const DoorOptions& options_;
  boost::asio::io_context io_{1};
  WorkerContext context_;
  AnswerLoop answers_;
  const HandlerMemory stopping_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

}  // namespace headgate::server
