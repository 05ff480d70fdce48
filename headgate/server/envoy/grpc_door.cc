#include "headgate/server/envoy/grpc_door.h"

#include <utility>

#include "headgate/server/connection_list.h"
#include "headgate/server/envoy/grpc_connection.h"

namespace headgate::server {
namespace {

class GrpcDoor final : public Door {
 public:
  GrpcDoor(WorkerContext& worker, boost::asio::io_context& io, const DoorOptions& options)
      : door_(worker, options),
        connections_(
            DoorKind::grpc, worker, io, options, {},
            [this](ReadySet::Ready ready) { connections_.serve_each(ready); }, [this] { tick(); }) {
  }

  void open(Socket socket) override { connections_.open(std::move(socket), door_); }

  void stop() noexcept override {
    door_.services.stop();
    connections_.for_each([this](Connections::Client& client) {
      if (const auto need = client.connection.stop()) connections_.served(client, *need);
    });
    connections_.stop();
  }

 private:
  using Connections = ConnectionList<GrpcConnection, /*confirms_stop=*/true>;

  void tick() {
    ++door_.now;
    connections_.for_each([this](Connections::Client& client) {
      if (const auto need = client.connection.tick()) connections_.served(client, *need);
    });
  }

  GrpcDoorContext door_;
  Connections connections_;
};

}  // namespace

std::unique_ptr<Door> make_grpc_door(WorkerContext& worker, boost::asio::io_context& io,
                                     const DoorOptions& options) {
  return std::make_unique<GrpcDoor>(worker, io, options);
}

}  // namespace headgate::server
