#include "headgate/server/spoe/door.h"

#include <string>
#include <utility>

#include "headgate/net/spoe_writer.h"
#include "headgate/server/connection_list.h"
#include "headgate/server/spoe/connection.h"

namespace headgate::server {
namespace {

// What a connection gets that is one too many.
const std::string& too_many() {
  static const std::string frame = [] {
    std::string text;
    net::SpoeWriter(text, net::spoe_frame_min)
        .disconnect({net::SpoeStatus::resource, "too many connections"});
    return text;
  }();
  return frame;
}

class SpoeDoor final : public Door {
 public:
  SpoeDoor(WorkerContext& worker, boost::asio::io_context& io, const DoorOptions& options)
      : door_(worker, options),
        connections_(DoorKind::spoe, worker, io, options, too_many(),
                     [this](ReadySet::Ready ready) { connections_.serve_each(ready); }) {}

  void open(Socket socket) override { connections_.open(std::move(socket), door_); }

  void stop() noexcept override { connections_.stop(); }

 private:
  SpoeDoorContext door_;
  ConnectionList<SpoeConnection> connections_;
};

}  // namespace

std::unique_ptr<Door> make_spoe_door(WorkerContext& worker, boost::asio::io_context& io,
                                     const DoorOptions& options) {
  return std::make_unique<SpoeDoor>(worker, io, options);
}

}  // namespace headgate::server
