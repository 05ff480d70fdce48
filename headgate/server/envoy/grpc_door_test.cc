// Runs the door on one end of pairs of sockets and clients on the others.
#include "headgate/server/envoy/grpc_door.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "headgate/server/testing/client_end.h"
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
  class Client : public ClientEnd {
   public:
    explicit Client(GrpcDoorTest& test) : ClientEnd(test.io_, *test.door_) {}
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
    EXPECT_NE(each->take().find(pong), std::string::npos);
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
