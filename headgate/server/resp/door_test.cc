// Runs the door on one end of pairs of sockets and clients on the other, all in one thread.

#include "headgate/server/resp/door.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "headgate/base/testing/allocations.h"
#include "headgate/server/testing/open_engine.h"
#include "headgate/server/worker_context.h"

namespace headgate::server {
namespace {

class RespDoorTest : public testing::Test {
 protected:
  RespDoorTest() : engine_(open_engine()), worker_(*engine_) {}

  void make() { door_ = make_resp_door(worker_, io_, options_); }

  class Client {
   public:
    explicit Client(RespDoorTest& test) : io_(test.io_) {
      std::array<int, 2> ends{};
      EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
      fd_ = ends[0];
      test.door_->open(
          Socket(test.io_, boost::asio::generic::stream_protocol(AF_UNIX, 0), ends[1]));
    }
    ~Client() { close(fd_); }
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    void send(std::string_view text) const {
      EXPECT_EQ(::send(fd_, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
    }
    // Returns how many bytes have come, and takes them.
    [[nodiscard]] std::size_t receive_now() {
      std::size_t all = 0;
      for (ssize_t got; (got = recv(fd_, room_.data(), room_.size(), 0)) > 0;) {
        all += static_cast<std::size_t>(got);
      }
      return all;
    }
    // Waits for bytes and returns them; "the end" at the end. Runs the door meanwhile.
    [[nodiscard]] std::string_view receive() {
      for (;;) {
        const ssize_t got = recv(fd_, room_.data(), room_.size(), 0);
        if (got == 0) return "the end";
        if (got > 0) return {room_.data(), static_cast<std::size_t>(got)};
        EXPECT_EQ(io_.run_one(), 1u);
      }
    }

   private:
    boost::asio::io_context& io_;
    int fd_ = -1;
    std::array<char, 65536> room_{};
  };

  boost::asio::io_context io_{1};
  std::unique_ptr<Engine> engine_;
  WorkerContext worker_;
  DoorOptions options_;
  std::unique_ptr<Door> door_;
};

TEST_F(RespDoorTest, AllocatesNothingOnceItIsWarm) {
  make();
  Client client(*this);
  std::string pipeline;
  for (int i = 0; i < 50; ++i) {
    pipeline += "*5\r\n$11\r\nCL.THROTTLE\r\n$7\r\nuser" + std::to_string(100 + i) +
                "\r\n$7\r\n1000000\r\n$1\r\n1\r\n$1\r\n1\r\n";
  }
  const auto decide = [&] {
    client.send(pipeline);
    ASSERT_TRUE(client.receive().starts_with("*5\r\n:0\r\n:1000001\r\n"));
  };
  for (int i = 0; i < 3; ++i) decide();
  const std::size_t before = allocations();
  for (int i = 0; i < 100; ++i) decide();
  EXPECT_EQ(allocations(), before);
}

TEST_F(RespDoorTest, BatchesAllReadyClientsAndAnswersEach) {
  make();
  std::array<std::unique_ptr<Client>, 20> clients;
  for (auto& client : clients) {
    client = std::make_unique<Client>(*this);
    client->send("PING\r\n");  // newcomers are served one by one
    ASSERT_EQ(client->receive(), "+PONG\r\n");
  }
  for (auto& client : clients) client->send("CL.THROTTLE k 19 1 1000\r\nECHO me\r\n");
  for (int left = 19; auto& client : clients) {
    EXPECT_EQ(client->receive(), "*5\r\n:0\r\n:20\r\n:" + std::to_string(left) + "\r\n:-1\r\n:" +
                                     std::to_string((20 - left) * 1000) + "\r\n$2\r\nme\r\n");
    --left;
  }
}

TEST_F(RespDoorTest, ALongPipelineLetsOthersGoFirst) {
  constexpr std::string_view reply = "+PONG\r\n";
  constexpr std::size_t backlog = 10000;  // as many as the door receives at once
  make();
  Client greedy(*this);
  Client other(*this);
  std::string commands;
  for (std::size_t i = 0; i < backlog; ++i) commands += "PING\r\n";
  greedy.send(commands);
  other.send("PING\r\n");
  EXPECT_EQ(other.receive(), reply);
  std::size_t received = greedy.receive_now();
  EXPECT_LT(received, backlog * reply.size() / 2);
  while (received < backlog * reply.size()) received += greedy.receive().size();
  EXPECT_EQ(received, backlog * reply.size());
}

TEST_F(RespDoorTest, ClosesAnIdleConnection) {
  options_.idle = std::chrono::seconds(1);
  options_.patience = std::chrono::seconds(1000);
  make();
  Client idle(*this);
  Client waiting(*this);
  waiting.send("PI");
  EXPECT_EQ(idle.receive(), "the end");
  waiting.send("NG\r\n");
  EXPECT_EQ(waiting.receive(), "+PONG\r\n");
}

TEST_F(RespDoorTest, ClosesAConnectionThatDoesNotEndItsCommand) {
  options_.idle = std::chrono::seconds(1000);
  options_.patience = std::chrono::seconds(1);
  make();
  Client idle(*this);
  Client slow(*this);
  slow.send("PING\r\nPI");
  EXPECT_EQ(slow.receive(), "+PONG\r\n");
  EXPECT_EQ(slow.receive(), "the end");
  idle.send("PING\r\n");
  EXPECT_EQ(idle.receive(), "+PONG\r\n");
}

TEST_F(RespDoorTest, TurnsAwayMoreConnectionsThanItMayHave) {
  options_.connections_max = 1;
  make();
  Client first(*this);
  Client second(*this);
  EXPECT_EQ(second.receive(), "-ERR max number of clients reached\r\n");
  EXPECT_EQ(second.receive(), "the end");
  first.send("PING\r\n");
  EXPECT_EQ(first.receive(), "+PONG\r\n");
}

TEST_F(RespDoorTest, EndsWhenEverythingThatHasBegunIsDone) {
  make();
  Client idle(*this);
  Client busy(*this);
  busy.send("PING\r\nPI");
  EXPECT_EQ(busy.receive(), "+PONG\r\n");
  door_->stop();
  EXPECT_EQ(idle.receive(), "the end");
  busy.send("NG\r\n");
  EXPECT_EQ(busy.receive(), "+PONG\r\n");
  EXPECT_EQ(busy.receive(), "the end");
  io_.run();  // returns: the door waits for nothing any more
}

}  // namespace
}  // namespace headgate::server
