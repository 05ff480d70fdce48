// A door: what turns the bytes of connections into decisions and back.
#pragma once

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "headgate/base/result.h"
#include "headgate/server/content.h"
#include "headgate/server/stats/door_kind.h"

namespace headgate::net {
class Endpoint;
}

namespace headgate::server {

class Engine;
class WorkerContext;

// TCP or Unix, on its worker's io_context.
using Socket = boost::asio::generic::stream_protocol::socket;

// What every door keeps to.
struct DoorOptions {
  std::string token;                  // what callers must show; empty: nothing
  std::chrono::seconds idle{300};     // a connection that asks for nothing is closed
  std::chrono::seconds patience{10};  // for a request that has begun to arrive, or a reply to leave
  // Of the workers and of each Service; 0: one a processor that we may use.
  unsigned threads = 0;
  FormHandler envoy_json = nullptr;     // answers POST /json of the HTTP door
  std::size_t connections_max = 20000;  // of one worker; further ones are closed at once
};

// One per worker and kind of door. Everything that it does happens on its worker's thread.
class Door {
 public:
  virtual ~Door() = default;

  // Takes over a connection that was accepted. The socket is non-blocking.
  virtual void open(Socket socket) = 0;

  // Finishes what connections have begun, then closes them. open() is not called again.
  virtual void stop() noexcept = 0;
};

using MakeDoor = std::unique_ptr<Door> (*)(WorkerContext& worker, boost::asio::io_context& io,
                                           const DoorOptions& options);

// A door with threads and a listener of its own.
class Service {
 public:
  virtual ~Service() = default;

  // Lets nobody in any more, and tells those who watch; what has begun goes on.
  virtual void retire() noexcept = 0;

  // Finishes what has begun; breaks off what has not ended by then.
  virtual void stop(std::chrono::steady_clock::time_point deadline) noexcept = 0;
};

// Listens at the endpoint.
using MakeService = Result<std::unique_ptr<Service>, std::string> (*)(Engine& engine,
                                                                      net::Endpoint& endpoint,
                                                                      const DoorOptions& options);

}  // namespace headgate::server
