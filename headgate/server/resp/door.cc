#include "headgate/server/resp/door.h"

#include <array>
#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headgate/server/connection_list.h"
#include "headgate/server/resp/connection.h"
#include "headgate/server/resp/door_context.h"

namespace headgate::server {
namespace {

// Memory that all connections of the door receive into: a pipeline of about 1000 calls at once.
constexpr std::size_t input_bytes = std::size_t{64} << 10;
constexpr std::string_view too_many = "-ERR max number of clients reached\r\n";  // as Redis says it

// Returns false if `act` threw, which it does if memory is short.
template <class Act>
bool attempt(const Act& act) noexcept {
  try {
    act();
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

class RespDoor final : public Door {
 public:
  RespDoor(WorkerContext& worker, boost::asio::io_context& io, const DoorOptions& options)
      : door_(worker, options),
        input_(input_bytes),
        connections_(DoorKind::resp, worker, io, options, too_many,
                     [this](ReadySet::Ready ready) { serve(ready); }) {}

  void open(Socket socket) override { connections_.open(std::move(socket), door_); }

  void stop() noexcept override { connections_.stop(); }

 private:
  using Connections = ConnectionList<RespConnection>;

  void serve(ReadySet::Ready ready);

  RespDoorContext door_;
  std::vector<char> input_;
  std::array<std::string, ReadySet::together_max> replies_;
  Connections connections_;
};

// Reads all ready sockets before replying, so that their decisions are batched. On bad_alloc,
// closes only that connection.
void RespDoor::serve(ReadySet::Ready ready) {
  std::array<bool, ReadySet::together_max> failed;
  std::array<Turn::Clock::duration, ReadySet::together_max> worked;
  const auto client = [&](std::size_t i) -> Connections::Client& {
    return *static_cast<Connections::Client*>(ready[i]);
  };
  for (std::size_t i = 0; i < ready.size(); ++i) {
    replies_[i].clear();
    Turn turn(ready.size());
    failed[i] = !attempt([&] { client(i).connection.receive(input_, replies_[i], turn); });
    turn.end_work();
    worked[i] = turn.worked();
  }
  const bool flushed = attempt([&] { door_.throttles.flush(); });
  for (std::size_t i = 0; i < ready.size(); ++i) {
    Need need = Need::nothing;
    if (flushed && !failed[i]) {
      failed[i] = !attempt([&] { need = client(i).connection.reply(replies_[i]); });
    }
    connections_.served(client(i), failed[i] ? Need::nothing : need, worked[i]);
  }
}

}  // namespace

std::unique_ptr<Door> make_resp_door(WorkerContext& worker, boost::asio::io_context& io,
                                     const DoorOptions& options) {
  return std::make_unique<RespDoor>(worker, io, options);
}

}  // namespace headgate::server
