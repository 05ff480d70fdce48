// Runs the door on one end of pairs of sockets and clients on the others.
#include "headgate/server/envoy/grpc_door.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "headgate/server/testing/open_engine.h"
#include "headgate/server/worker_context.h"

namespace headgate::server {
namespace {

using namespace std::string_literals;

const std::string hello = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + "\0\0\0\4\0\0\0\0\0"s;
const std::string ping = "\0\0\x8\6\0\0\0\0\0question"s;
const std::string pong = "\0\0\x8\6\1\0\0\0\0question"s;

class GrpcDoorTest : public ::testing::Test {
 protected:
  class Client {
   public:
    explicit Client(GrpcDoorTest& test) {
      int ends[2];
      EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
      fd_ = ends[0];
      test.door_->open(
          Socket(test.io_, boost::asio::generic::stream_protocol(AF_UNIX, 0), ends[1]));
    }
    ~Client() { close(fd_); }
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    void send(std::string_view bytes) const {
      EXPECT_EQ(::send(fd_, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
    }
    // Returns what has come.
    [[nodiscard]] std::string received() {
      ssize_t count = 0;
      char room[4096];
      std::string all;
      while ((count = recv(fd_, room, sizeof room, 0)) > 0) {
        all.append(room, static_cast<std::size_t>(count));
      }
      is_cut_off_ = count == 0;
      return all;
    }
    [[nodiscard]] bool is_cut_off() {
      [[maybe_unused]] const std::string rest = received();
      return is_cut_off_;
    }

   private:
    int fd_;
    bool is_cut_off_ = false;
  };

  std::unique_ptr<Engine> engine_ = open_engine();
  WorkerContext worker_{*engine_};
  boost::asio::io_context io_;
  std::unique_ptr<Door> door_ = make_grpc_door(worker_, io_, {});
};

TEST_F(GrpcDoorTest, AStopAnswersThoseThatHaveJustCome) {
  Client first(*this);
  Client second(*this);
  first.send(hello + ping);  // has arrived, and was not read yet
  door_->stop();
  second.send(hello + ping);
  io_.poll();
  for (Client* const each : {&first, &second}) {
    EXPECT_NE(each->received().find(pong), std::string::npos);
    EXPECT_FALSE(each->is_cut_off()) << "a call may be on its way";
  }
}

TEST_F(GrpcDoorTest, AStopWaitsForNobodyWhoIsSilent) {
  Client silent(*this);
  Client greets(*this);
  greets.send(hello);
  io_.poll();
  door_->stop();
  io_.run_for(std::chrono::seconds(5));  // less than the time for a call
  EXPECT_TRUE(silent.is_cut_off());
  EXPECT_TRUE(greets.is_cut_off());
}

}  // namespace
}  // namespace headgate::server
