// A door turns the bytes of connections into requests for decisions, and decisions into bytes.
#pragma once

#include <algorithm>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "headgate/server/content.h"
#include "headgate/server/credentials.h"
#include "headgate/server/stats/door_kind.h"

namespace headgate::server {

class Engine;
class WorkerContext;

// TCP or Unix, on its worker's io_context.
using Socket = boost::asio::generic::stream_protocol::socket;

// Options of all doors of a server.
struct DoorOptions {
  // Never null.
  std::shared_ptr<Credentials> credentials = std::make_shared<Credentials>();
  // A connection without a request is closed after this time. 5 min: longer than proxies usually
  // keep unused connections (60 s), so that they are not surprised by the close.
  std::chrono::seconds idle{300};
  // The time for the rest of a request that has begun to arrive, and for the client to read a
  // reply. 10 s: decisions are smaller than a packet; even a bad line needs less.
  std::chrono::seconds patience{10};
  // The number of workers; 0: one per usable processor.
  unsigned threads = 0;
  FormHandler envoy_json;  // answers POST /json of the HTTP door
  // Per worker and door; further connections are closed at once. Each idle one takes less than
  // 1 KiB, so that all take at most 20 MiB.
  std::size_t connections_max = 20000;

  // Strangers, the clients that have not shown the token, get so many of them. A client with the
  // token shows it as soon as it is connected, so even a few places would do; thousands let it be
  // slow during a flood.
  [[nodiscard]] std::size_t strangers_max() const noexcept {
    return std::max<std::size_t>(connections_max / 4, 1);
  }
};

// There is one per worker and listening address. All methods run on the worker's thread.
class Door {
 public:
  virtual ~Door() = default;

  // Takes over a connection that was accepted. The socket is non-blocking.
  virtual void open(Socket socket) = 0;

  // Answers requests that have begun to arrive, then closes the connections. open() is not called
  // again.
  virtual void stop() noexcept = 0;
};

using MakeDoor = std::unique_ptr<Door> (*)(WorkerContext& worker, boost::asio::io_context& io,
                                           const DoorOptions& options);

}  // namespace headgate::server
