#include "headgate/server/envoy/grpc_door.h"

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <utility>

#include "headgate/server/connection_list.h"
#include "headgate/server/envoy/grpc_connection.h"

namespace headgate::server {
namespace {

class GrpcDoor final : public Door {
 public:
  GrpcDoor(WorkerContext& worker, boost::asio::io_context& io, const DoorOptions& options)
      : door_(worker, options),
        connections_(DoorKind::grpc, worker, io, options, {},
                     [this](ReadySet::Ready ready) { serve(ready); }),
        timer_(io) {
    start_ticking();
  }

  void open(Socket socket) override { connections_.open(std::move(socket), door_); }

  void stop() noexcept override {
    door_.services.stop();
    timer_.cancel();
    connections_.for_each_client([this](Connections::Client& client) {
      if (const auto need = client.connection.stop()) connections_.served(client, *need);
    });
    connections_.stop();
  }

 private:
  using Connections = ConnectionList<GrpcConnection>;

  void serve(ReadySet::Ready ready) {
    for (void* const each : ready) {
      auto& client = *static_cast<Connections::Client*>(each);
      connections_.served(client, client.connection.serve(Turn(ready.size())));
    }
  }

  void start_ticking() {
    timer_.expires_after(std::chrono::seconds(1));
    timer_.async_wait([this](boost::system::error_code error) {
      if (error) return;
      ++door_.now;
      connections_.for_each_client([this](Connections::Client& client) {
        if (const auto need = client.connection.tick()) connections_.served(client, *need);
      });
      start_ticking();
    });
  }

  GrpcDoorContext door_;
  Connections connections_;
  boost::asio::steady_timer timer_;
};

}  // namespace

std::unique_ptr<Door> make_grpc_door(WorkerContext& worker, boost::asio::io_context& io,
                                     const DoorOptions& options) {
  return std::make_unique<GrpcDoor>(worker, io, options);
}

}  // namespace headgate::server
