// Runs the door on one end of pairs of sockets and clients on the other, all in one thread.

#include "headgate/server/resp/door.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headgate/base/testing/allocations.h"
#include "headgate/server/resp/waiting_replies.h"
#include "headgate/server/testing/client_end.h"
#include "headgate/server/testing/open_engine.h"
#include "headgate/server/testing/taken_places.h"
#include "headgate/server/worker_context.h"

namespace headgate::server {
namespace {

class RespDoorTest : public testing::Test {
 protected:
  explicit RespDoorTest(std::unique_ptr<Engine> engine = open_engine())
      : engine_(std::move(engine)), worker_(*engine_) {}

  void make() { door_ = make_resp_door(worker_, io_, options_); }

  class Client : public ClientEnd {
   public:
    explicit Client(RespDoorTest& test) : ClientEnd(test.io_, *test.door_) {}
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
  std::string pipeline;  // short enough for one turn: what is left after that gets a buffer
  for (int i = 0; i < 10; ++i) {
    pipeline += "*5\r\n$11\r\nCL.THROTTLE\r\n$7\r\nuser" + std::to_string(100 + i) +
                "\r\n$7\r\n1000000\r\n$1\r\n1\r\n$1\r\n1\r\n";
  }
  const auto decide = [&] {
    client.send(pipeline);
    ASSERT_TRUE(client.receive().starts_with("*5\r\n:0\r\n:1000001\r\n"));
  };
  for (int i = 0; i < 3; ++i) decide();
  EXPECT_TRUE(allocates_nothing([&] {
    for (int i = 0; i < 20; ++i) decide();
  }));
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
  // In any order: one whose request took long, as on a busy machine, has its next turn later.
  std::vector<std::string> replies;
  std::vector<std::string> expected;
  for (int left = 20; auto& client : clients) {
    replies.emplace_back(client->receive());
    --left;
    expected.push_back("*5\r\n:0\r\n:20\r\n:" + std::to_string(left) +
                       "\r\n:-1\r\n:" + std::to_string((20 - left) * 1000) + "\r\n$2\r\nme\r\n");
  }
  EXPECT_THAT(replies, testing::UnorderedElementsAreArray(expected));
}

// What is left of the quota tells who was decided first.
TEST_F(RespDoorTest, ALongPipelineLetsOthersGoFirst) {
  constexpr std::string_view command = "CL.THROTTLE k 999999 1 1000\r\n";
  constexpr std::size_t backlog = 1800;  // as many as the door receives at once
  make();
  const auto decided = [](std::string_view reply) {
    constexpr std::string_view before = "*5\r\n:0\r\n:1000000\r\n:";
    EXPECT_TRUE(reply.starts_with(before)) << reply;
    return 1000000 - std::stoul(std::string(reply.substr(before.size(), 6)));
  };
  Client greedy(*this);
  std::vector<std::unique_ptr<Client>> others(30);
  // Newcomers are served one by one.
  greedy.send(command);
  EXPECT_EQ(decided(greedy.receive()), 1u);
  // When so many are ready together, their turns are as short as they get.
  for (auto& other : others) {
    other = std::make_unique<Client>(*this);
    other->send(command);
    EXPECT_LE(decided(other->receive()), 31u);
  }
  std::string commands;
  for (std::size_t i = 0; i < backlog; ++i) commands += command;
  greedy.send(commands);
  for (auto& other : others) other->send(command);
  for (auto& other : others) EXPECT_LT(decided(other->receive()), backlog / 2);
  std::size_t replies = 0;
  while (replies < backlog) {
    const std::string_view some = greedy.receive();
    replies += static_cast<std::size_t>(std::count(some.begin(), some.end(), '*'));
  }
  EXPECT_EQ(replies, backlog);
}

// What is left of the quota tells who was decided first.
std::uint64_t decided_before(std::string_view reply) {
  constexpr std::string_view before = "*5\r\n:0\r\n:1000000\r\n:";
  EXPECT_TRUE(reply.starts_with(before)) << reply;
  return 999999 - std::stoul(std::string(reply.substr(before.size(), 6)));
}

TEST_F(RespDoorTest, ClientsWithLongTurnsLetOthersGoFirst) {
  constexpr std::string_view command = "CL.THROTTLE k 999999 1 1000\r\n";
  constexpr std::size_t many = 1800;  // as many as the door receives at once
  std::string commands;
  for (std::size_t i = 0; i < many; ++i) commands += command;
  make();
  Client polite(*this);
  for (std::size_t i = 0; i < 20; ++i) {
    polite.send(command);
    ASSERT_EQ(decided_before(polite.receive()), i);
  }
  std::vector<std::unique_ptr<Client>> others(10);
  for (auto& other : others) {
    other = std::make_unique<Client>(*this);
    other->send(commands);
    for (std::size_t replies = 0; replies < many;) {
      const std::string_view some = other->receive();
      replies += static_cast<std::size_t>(std::count(some.begin(), some.end(), '*'));
    }
  }
  for (auto& other : others) other->send(commands);
  polite.send(command);
  EXPECT_EQ(decided_before(polite.receive()), 20 + others.size() * many);
}

// Whatever the commands of these clients take on average.
TEST_F(RespDoorTest, ACommandThatTakesLongLetsOthersGoFirst) {
  constexpr std::string_view command = "CL.THROTTLE k 999999 1 1000\r\n";
  make();
  std::vector<std::unique_ptr<Client>> others(10);
  for (auto& other : others) other = std::make_unique<Client>(*this);
  Client polite(*this);
  for (int i = 0; i < 20; ++i) {
    for (const auto& other : others) {
      other->send("PING\r\n");
      ASSERT_EQ(other->receive(), "+PONG\r\n");
    }
    polite.send("PING\r\n");
    ASSERT_EQ(polite.receive(), "+PONG\r\n");
  }
  std::size_t decided = 0;
  for (const std::string long_one : {"INFO headgate\r\n", "COMMAND\r\n"}) {
    const std::string pipeline = long_one + std::string(command) + long_one + "PING\r\n";
    for (auto& other : others) other->send(pipeline);
    polite.send(command);
    EXPECT_EQ(decided_before(polite.receive()), decided);
    decided += 1 + others.size();
    for (auto& other : others) {
      std::string all;
      while (!all.ends_with("+PONG\r\n")) all += other->receive();
      EXPECT_NE(all.find(":1000000\r\n"), std::string::npos) << all;
    }
  }
}

TEST_F(RespDoorTest, ClosesAnIdleConnection) {
  options_.idle = std::chrono::seconds(1);
  options_.patience = std::chrono::seconds(1000);
  make();
  Client idle(*this);
  Client waiting(*this);
  waiting.send("PI");
  EXPECT_EQ(idle.receive(), "");
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
  EXPECT_EQ(slow.receive(), "");
  idle.send("PING\r\n");
  EXPECT_EQ(idle.receive(), "+PONG\r\n");
}

TEST_F(RespDoorTest, TurnsAwayMoreConnectionsThanItMayHave) {
  options_.connections_max = 1;
  make();
  Client first(*this);
  Client second(*this);
  EXPECT_EQ(second.receive(), "-ERR max number of clients reached\r\n");
  EXPECT_EQ(second.receive(), "");
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
  EXPECT_EQ(idle.receive(), "");
  busy.send("NG\r\n");
  EXPECT_EQ(busy.receive(), "+PONG\r\n");
  EXPECT_EQ(busy.receive(), "");
  io_.run();  // returns: the door waits for nothing any more
}

// ---- a store that answers later

class LateRespDoorTest : public RespDoorTest {
 protected:
  LateRespDoorTest() : RespDoorTest(open_late_engine()), store_(late_store(*engine_)) { make(); }
  ~LateRespDoorTest() override { store_.complete_all(); }

  void run() {
    io_.restart();
    io_.poll();
  }
  void complete(std::size_t nth = 0) {
    store_.complete(nth);
    run();
  }
  // Lets the store answer everything, also what is asked only then.
  void complete_all() {
    run();
    while (store_.outstanding() > 0) complete();
  }

  store::DeferredStore& store_;
};

// The reply to HG.DECIDE that leaves so many units.
std::string admitted(std::int64_t left) {
  return "*5\r\n:1\r\n:1000000\r\n:" + std::to_string(left) +
         "\r\n:" + std::to_string(left * 86'400'000 / 1'000'000 * 1000) + "\r\n:0\r\n";
}

TEST_F(LateRespDoorTest, RepliesKeepTheOrderOfTheCommands) {
  Client client(*this);
  client.send(
      "PING a\r\nHG.DECIDE burst k 500000\r\nPING b\r\nCL.THROTTLE k 4 1 60\r\n"
      "HG.PEEK burst k\r\nPING c\r\n");
  run();
  EXPECT_EQ(client.take(), "$1\r\na\r\n");
  ASSERT_EQ(store_.outstanding(), 3u);
  complete(2);
  complete(1);
  EXPECT_EQ(client.take(), "");
  complete(0);
  EXPECT_EQ(client.take(), admitted(500'000) + "$1\r\nb\r\n" +
                               "*5\r\n:0\r\n:5\r\n:4\r\n:-1\r\n:60\r\n" + admitted(1'000'000) +
                               "$1\r\nc\r\n");
}

TEST_F(LateRespDoorTest, OtherConnectionsDoNotWait) {
  Client waiting(*this);
  Client other(*this);
  waiting.send("HG.DECIDE burst k\r\n");
  run();
  other.send("PING\r\n");
  run();
  EXPECT_EQ(other.take(), "+PONG\r\n");
  waiting.send("PING\r\n");
  run();
  EXPECT_EQ(waiting.take(), "");
  complete();
  EXPECT_TRUE(waiting.take().ends_with(":0\r\n+PONG\r\n"));
  EXPECT_EQ(worker_.answers().outstanding(), 0u);
}

TEST_F(LateRespDoorTest, RepliesAreThoseOfAStoreThatCompletesAtOnce) {
  const auto engine = open_engine();
  WorkerContext worker(*engine);
  std::unique_ptr<Door> at_once = make_resp_door(worker, io_, options_);
  Client late(*this);
  std::swap(door_, at_once);
  Client direct(*this);
  std::swap(door_, at_once);
  std::string all;
  for (const std::string command :
       {"HG.DECIDE burst k 400000", "HG.DECIDE burst k 2000000", "HG.PEEK burst k 5",
        "HG.REFUND burst k 100000", "HG.DECIDE other k", "HG.DECIDE burst k x",
        "CL.THROTTLE k 4 1 60 3", "CL.THROTTLE k 4 1 60 3", "CL.THROTTLE k 4 1 60 x",
        "THROTTLE k 4 1 60 1", "CL.THROTTLE k 4 1 60 0", "HG.DECIDE burst k 0", "NONSENSE",
        "CLIENT GETNAME", "HG.DECIDE burst j 500000"}) {
    late.send(command + "\r\n");
    direct.send(command + "\r\n");
    complete_all();
    all += command + "\r\n";
    const std::string expected = direct.take();
    EXPECT_NE(expected, "");
    EXPECT_EQ(late.take(), expected) << command;
  }
  for (Client* const client : {&late, &direct}) {
    client->send("HELLO 3\r\n");
    static_cast<void>(client->receive());
  }
  late.send(all);  // the same at once
  direct.send(all);
  complete_all();
  EXPECT_EQ(late.take(), direct.take());
}

TEST_F(LateRespDoorTest, ALongPipelineTakesABoundedPlace) {
  constexpr int count = 1000;
  Client client(*this);
  Client other(*this);
  std::string calls;
  std::string expected;
  for (int i = 1; i <= count; ++i) {
    const std::string n = std::to_string(i);
    calls +=
        i % 2 == 0 ? "HG.DECIDE burst k" + n + " " + n : "CL.THROTTLE k" + n + " 9999 1 9 " + n;
    calls += "\r\n";
    expected += ":" + std::to_string((i % 2 == 0 ? 1'000'000 : 10'000) - i) + "\r\n";
  }
  client.send(calls);
  run();
  EXPECT_EQ(store_.outstanding(), WaitingReplies::most);
  for (int i = 0; i < 100; ++i) client.send("PING\r\n");
  run();
  EXPECT_EQ(store_.outstanding(), WaitingReplies::most);
  other.send("PING\r\n");
  run();
  EXPECT_EQ(other.take(), "+PONG\r\n");
  std::string replies;
  while (store_.outstanding() > 0) {
    complete();
    ASSERT_LE(store_.outstanding(), WaitingReplies::most);
    replies += client.take();
  }
  std::size_t at = 0;
  for (std::size_t line = 0; line < expected.size(); line = expected.find('\n', line) + 1) {
    const std::string left = expected.substr(line, expected.find('\n', line) + 1 - line);
    at = replies.find(left, at);
    ASSERT_NE(at, std::string::npos) << left;
  }
  std::string pongs;
  for (int i = 0; i < 100; ++i) pongs += "+PONG\r\n";
  EXPECT_TRUE(replies.ends_with(pongs));
}

TEST_F(LateRespDoorTest, RepliesThatWaitTakeABoundedPlace) {
  Client client(*this);
  client.send("HG.DECIDE burst k\r\n");
  run();
  const std::string echo = "*2\r\n$4\r\nECHO\r\n$4000\r\n" + std::string(4000, 'x') + "\r\n";
  for (int i = 0; i < 10; ++i) {
    client.send(echo);
    run();
  }
  client.send("HG.DECIDE burst k\r\n");
  run();
  EXPECT_EQ(client.take(), "");
  EXPECT_EQ(store_.outstanding(), 1u) << "the rest is not read";
  complete();
  EXPECT_EQ(store_.outstanding(), 1u);
  complete();
  EXPECT_GT(client.take().size(), 40'000u);
}

TEST_F(LateRespDoorTest, AClientThatLeavesLeavesItsJobs) {
  {
    Client leaving(*this);
    leaving.send("HG.DECIDE burst k 10\r\nCL.THROTTLE k 4 1 60\r\nHG.DECIDE burst k 10\r\n");
    run();
    ASSERT_EQ(store_.outstanding(), 3u);
    complete(1);
  }
  run();
  EXPECT_EQ(worker_.answers().outstanding(), 2u);
  complete_all();
  EXPECT_EQ(worker_.answers().outstanding(), 0u);
  Client other(*this);
  other.send("HG.PEEK burst k\r\n");
  complete_all();
  EXPECT_TRUE(other.take().starts_with("*5\r\n:1\r\n:1000000\r\n:999980\r\n"));
}

TEST_F(LateRespDoorTest, AClientThatOnlyStopsSendingGetsItsReplies) {
  Client client(*this);
  client.send("HG.DECIDE burst k 500000\r\nPING\r\n");
  client.finish();
  run();
  complete_all();
  EXPECT_EQ(client.receive(), admitted(500'000) + "+PONG\r\n");
  EXPECT_EQ(client.receive(), "");
}

TEST_F(LateRespDoorTest, QuitWaitsForTheRepliesBeforeIt) {
  Client client(*this);
  client.send("HG.DECIDE burst k 500000\r\nQUIT\r\nPING\r\n");
  run();
  EXPECT_EQ(client.take(), "");
  complete_all();
  EXPECT_EQ(client.receive(), admitted(500'000) + "+OK\r\n");
  EXPECT_EQ(client.receive(), "");
}

TEST_F(LateRespDoorTest, AStopWaitsForAnswers) {
  Client waiting(*this);
  Client idle(*this);
  waiting.send("HG.DECIDE burst k 500000\r\n");
  run();
  door_->stop();
  EXPECT_EQ(idle.receive(), "");
  complete_all();
  EXPECT_EQ(waiting.receive(), admitted(500'000));
  EXPECT_EQ(waiting.receive(), "");
  io_.restart();
  io_.run();  // returns
}

TEST_F(LateRespDoorTest, TheDoorMayEndWhileRepliesWait) {
  Client client(*this);
  client.send("HG.DECIDE burst k\r\nCL.THROTTLE k 4 1 60\r\n");
  run();
  door_.reset();
  EXPECT_EQ(worker_.answers().outstanding(), 2u);
  store_.complete_all();
  EXPECT_EQ(worker_.answers().outstanding(), 0u);
}

TEST_F(LateRespDoorTest, NoMoreDecisionsWaitThanThereIsRoomFor) {
  const TakenPlaces others(worker_);
  Client client(*this);
  client.send("HG.DECIDE burst k\r\nCL.THROTTLE k 4 1 60\r\n");
  const std::string refused = "-ERR too many decisions wait for the store\r\n";
  EXPECT_EQ(client.receive(), refused + refused);
}

TEST_F(LateRespDoorTest, PipelinesAreReadOnLaterAndLeavePlacesToOthers) {
  constexpr std::size_t count = 2 * Answers::most / WaitingReplies::most;
  std::vector<std::unique_ptr<Client>> greedy;
  std::string pipeline;
  std::string replies;
  for (std::size_t i = 0; i < WaitingReplies::most; ++i) {
    pipeline += i % 2 == 0 ? "HG.DECIDE burst k 0\r\n" : "CL.THROTTLE k 4 1 60 0\r\n";
  }
  for (std::size_t i = 0; i < count; ++i) {
    greedy.push_back(std::make_unique<Client>(*this));
    greedy.back()->send(pipeline);
  }
  run();
  EXPECT_LE(store_.outstanding(), Answers::most - Answers::kept + greedy.size());
  Client polite(*this);
  polite.send("HG.DECIDE burst other 500000\r\n");
  run();
  complete(store_.outstanding() - 1);
  EXPECT_EQ(polite.receive(), admitted(500'000));
  complete_all();
  for (const auto& client : greedy) {
    const std::string all = client->take();
    EXPECT_EQ(all.find("-ERR"), std::string::npos) << all;
    EXPECT_EQ(std::count(all.begin(), all.end(), '*'), std::ptrdiff_t{WaitingReplies::most});
  }
}

}  // namespace
}  // namespace headgate::server
