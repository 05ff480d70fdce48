#include "headgate/server/http/door.h"

#include <string_view>

#include "headgate/server/connection_list.h"
#include "headgate/server/http/session.h"

namespace headgate::server {
namespace {

constexpr std::string_view too_many =
    "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

class HttpDoor final : public Door {
 public:
  HttpDoor(WorkerContext& worker, boost::asio::io_context& io, const DoorOptions& options)
      : door_(worker, options),
        connections_(DoorKind::http, worker, io, options, too_many,
                     [this](ReadySet::Ready ready) { connections_.serve_each(ready); }) {}

  void open(Socket socket) override { connections_.open(std::move(socket), door_); }

  void stop() noexcept override {
    connections_.for_each([](Connections::Client& client) { client.connection.stop(); });
    connections_.stop();
  }

 private:
  using Connections = ConnectionList<HttpSession>;

  HttpDoorContext door_;
  Connections connections_;
};

}  // namespace

std::unique_ptr<Door> make_http_door(WorkerContext& worker, boost::asio::io_context& io,
                                     const DoorOptions& options) {
  return std::make_unique<HttpDoor>(worker, io, options);
}

}  // namespace headgate::server
