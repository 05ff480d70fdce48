// Runs the door on one end of pairs of sockets and clients on the others.
#include "headgate/server/envoy/grpc_door.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "headgate/server/testing/client_end.h"
#include "headgate/server/testing/open_engine.h"
#include "headgate/server/testing/taken_places.h"
#include "headgate/server/worker_context.h"

namespace headgate::server {
namespace {

using namespace std::string_literals;

const std::string hello = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + "\0\0\0\4\0\0\0\0\0"s;
const std::string ping = "\0\0\x8\6\0\0\0\0\0question"s;
const std::string pong = "\0\0\x8\6\1\0\0\0\0question"s;

// A frame of less than 256 bytes.
std::string frame(char type, char flags, char stream, const std::string& payload) {
  return "\0\0"s + static_cast<char>(payload.size()) + type + flags + "\0\0\0"s + stream + payload;
}

// A call of ShouldRateLimit for policy `burst`.
std::string call(char stream) {
  const auto text = [](const std::string& value) {
    return static_cast<char>(value.size()) + value;
  };
  const auto nested = [&](char number, const std::string& value) {
    return static_cast<char>(number << 3 | 2) + text(value);
  };
  std::string head;  // fields that no table keeps
  for (const auto& [name, value] : {std::pair(":method"s, "POST"s),
                                    {":scheme", "http"},
                                    {":path",
                                     "/envoy.service.ratelimit.v3.RateLimitService/"
                                     "ShouldRateLimit"},
                                    {":authority", "h"},
                                    {"te", "trailers"},
                                    {"content-type", "application/grpc"}}) {
    head += '\0' + text(name) + text(value);
  }
  const auto entry = [&](const std::string& key, const std::string& value) {
    return nested(1, nested(1, key) + nested(2, value));
  };
  const std::string message =
      nested(1, "headgate") + nested(2, entry("policy", "burst") + entry("key", "a"));
  return frame(1, 4, stream, head) + frame(0, 1, stream, "\0\0\0\0"s + text(message));
}

class GrpcDoorTest : public ::testing::Test {
 protected:
  explicit GrpcDoorTest(std::unique_ptr<Engine> engine = open_engine())
      : engine_(std::move(engine)) {}

  class Client : public ClientEnd {
   public:
    explicit Client(GrpcDoorTest& test) : ClientEnd(test.io_, *test.door_) {}
  };

  std::unique_ptr<Engine> engine_;
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

// ---- a store that answers later

class LateGrpcDoorTest : public GrpcDoorTest {
 protected:
  LateGrpcDoorTest() : GrpcDoorTest(open_late_engine()), store_(late_store(*engine_)) {}
  ~LateGrpcDoorTest() override { store_.complete_all(); }

  void run() { run_ready(io_); }
  void complete_all() { server::complete_all(io_, store_); }
  // The number of calls that these whole frames answer: each in one frame of DATA.
  static std::size_t answers(std::string_view frames) {
    std::size_t count = 0;
    while (!frames.empty()) {
      if (frames[3] == 0) ++count;
      const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(frames[at]); };
      frames.remove_prefix(9 + (std::size_t{byte(1)} << 8) + byte(2));
    }
    return count;
  }

  store::DeferredStore& store_;
};

TEST_F(LateGrpcDoorTest, AClientThatOnlyStopsSendingGetsItsAnswers) {
  Client client(*this);
  client.send(hello + call(1) + call(3));
  client.finish();
  run();
  EXPECT_EQ(store_.outstanding(), 2u);
  EXPECT_FALSE(client.is_cut_off());
  complete_all();
  EXPECT_EQ(answers(client.take()), 2u);
  EXPECT_TRUE(client.is_cut_off());
}

TEST_F(LateGrpcDoorTest, AClientThatLeavesIsNotWaitedFor) {
  {
    Client leaving(*this);
    leaving.send(hello + call(1));
    run();
  }
  run();
  EXPECT_EQ(store_.outstanding(), 1u);
  door_->stop();
  io_.restart();
  io_.run();  // returns
}

TEST_F(LateGrpcDoorTest, CallsThatWaitForAPlaceAreAnsweredAndTheConnectionIsReadOn) {
  const TakenPlaces others(worker_, Answers::kept + 4);
  Client client(*this);
  std::string calls = hello;
  for (char stream = 1; stream < 41; stream += 2) calls += call(stream);
  client.send(calls);
  run();
  EXPECT_LT(store_.outstanding(), Answers::most - Answers::kept);
  client.send(ping);
  run();
  EXPECT_EQ(client.take().find(pong), std::string::npos) << "it is not read";
  while (store_.outstanding() > Answers::most - Answers::kept - 4) {
    store_.complete(store_.outstanding() - 1);
    run();
  }
  const std::string all = client.take();
  EXPECT_EQ(answers(all), 20u);
  EXPECT_NE(all.find(pong), std::string::npos);
}

}  // namespace
}  // namespace headgate::server
