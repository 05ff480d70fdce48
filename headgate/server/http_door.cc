#include "headgate/server/http_door.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <string_view>
#include <utility>

#include "headgate/server/http_session.h"

namespace headgate::server {
namespace {

constexpr std::chrono::milliseconds tick{1000 / HttpDesk::ticks_per_second};

constexpr std::string_view too_many =
    "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

class HttpDoor final : public Door {
 public:
  HttpDoor(Station& station, boost::asio::io_context& io, const DoorOptions& options)
      : desk_(station, options), timer_(io) {}

  void open(Socket socket) override {
    if (sessions_.size() >= desk_.options.connections_max) {
      desk_.station.sight().refused(DoorKind::http);
      boost::system::error_code ignored;
      socket.write_some(boost::asio::buffer(too_many), ignored);
      return;
    }
    const bool was_empty = sessions_.empty();
    const auto session = std::make_shared<HttpSession>(std::move(socket), desk_);
    session->start(sessions_, sessions_.insert(sessions_.end(), session));
    if (was_empty) await_tick();
  }

  void stop() noexcept override {
    for (auto at = sessions_.begin(); at != sessions_.end();) (*at++)->stop();
    if (sessions_.empty()) timer_.cancel();
  }

 private:
  void await_tick() {
    timer_.expires_after(tick);
    timer_.async_wait([this](boost::system::error_code error) {
      if (error) return;
      ++desk_.tick;
      look();
      if (!sessions_.empty()) await_tick();
    });
  }

  // Looks at a part of the connections, so that each has its turn within a second.
  void look() {
    std::size_t count = sessions_.size() / HttpDesk::ticks_per_second + 1;
    while (count-- > 0 && !sessions_.empty()) {
      sessions_.splice(sessions_.end(), sessions_, sessions_.begin());
      sessions_.back()->look();
    }
  }

  HttpDesk desk_;
  boost::asio::steady_timer timer_;
  HttpSessions sessions_;
};

}  // namespace

std::unique_ptr<Door> make_http_door(Station& station, boost::asio::io_context& io,
                                     const DoorOptions& options) {
  return std::make_unique<HttpDoor>(station, io, options);
}

}  // namespace headgate::server
