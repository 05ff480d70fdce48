#include "headgate/server/connection_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <list>
#include <string>
#include <thread>
#include <vector>

#include "headgate/server/testing/client_end.h"
#include "headgate/server/testing/open_engine.h"
#include "headgate/server/testing/tcp_pair.h"
#include "headgate/server/testing/token_file.h"

namespace headgate::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Shared {
  bool knows = true;  // those that were trusted are
};

// Takes what it is sent.
class Taking {
 public:
  Taking(int fd, const Shared& shared, Resume resume) : fd_(fd), shared_(shared), resume_(resume) {}
  Taking(const Taking&) = delete;
  Taking& operator=(const Taking&) = delete;
  ~Taking() { close(fd_); }

  // Returns the bytes.
  std::string take() {
    char room[64];
    const ssize_t count = recv(fd_, room, sizeof room, 0);
    if (count > 0 && room[0] != 'H') received_ = true;
    return {room, count > 0 ? static_cast<std::size_t>(count) : 0};
  }
  void trust() { trusted_ = true; }
  void shake_hands() { established_ = false; }
  void wait(bool waits) { waits_ = waits; }
  [[nodiscard]] bool waits() const { return waits_; }
  void resume() const { resume_(); }
  void answer_at(std::chrono::steady_clock::time_point at) { answers_at_ = at; }

  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] bool is_trusted() const { return trusted_ && shared_.knows; }
  [[nodiscard]] bool is_established() const { return established_; }
  [[nodiscard]] bool has_received() const { return received_; }
  [[nodiscard]] bool is_idle() const { return true; }
  [[nodiscard]] static bool moved() { return true; }
  [[nodiscard]] std::chrono::steady_clock::time_point answers_at() const { return answers_at_; }

 private:
  int fd_;
  const Shared& shared_;
  Resume resume_;
  bool trusted_ = false;
  bool waits_ = false;
  bool received_ = false;
  bool established_ = true;
  std::chrono::steady_clock::time_point answers_at_;
};

// Clients are known by the texts that they send: "L..." takes long, "S..." stays a stranger, "T..."
// does so in a handshake of TLS, "W..." waits for an answer, "P..." pauses until pauses_until_,
// "H..." is part of a handshake, and no request.
class ConnectionListTest : public ::testing::Test {
 protected:
  using Connections = ConnectionList<Taking>;

  explicit ConnectionListTest(const DoorOptions& options = {}) : options_(options) {}

  // A client of the list.
  class Peer : public ClientEnd {
   public:
    explicit Peer(ConnectionListTest& test)
        : ClientEnd(test.io_,
                    [&](Socket end) { test.connections_.open(std::move(end), test.shared_); }) {}
  };

  // The server's end of a TCP connection, as a worker accepts it.
  Socket tcp(int fd) {
    Socket socket(io_, boost::asio::generic::stream_protocol(AF_INET, 0), fd);
    socket.non_blocking(true);
    return socket;
  }

  // Returns a client that has had its first turn, which was as its text says.
  Peer& known(const std::string& text) {
    Peer& peer = peers_.emplace_back(*this);
    peer.send(text);
    io_.poll();
    served_.clear();
    return peer;
  }

  // Returns which texts were served together, in their order.
  std::vector<std::string> run() {
    io_.poll();
    return std::exchange(served_, {});
  }

  void serve(ReadySet::Ready ready) {
    std::string together;
    for (void* const each : ready) {
      auto& client = *static_cast<Connections::Client*>(each);
      std::string text = client.connection.take();
      if (text.empty() && client.connection.waits()) {
        client.connection.wait(false);
        together += (together.empty() ? "" : " ") + std::string("answered");
        connections_.served(client, Need::input);
        continue;
      }
      if (text.empty()) {
        connections_.served(client, Need::nothing);
        continue;
      }
      if (text.starts_with('P')) {
        client.connection.trust();
        client.connection.wait(true);
        client.connection.answer_at(pauses_until_);
        connections_.served(client, Need::pause);
        continue;
      }
      if (text.starts_with('W')) {
        client.connection.trust();
        client.connection.wait(true);
        waiting_.push_back(&client.connection);
        connections_.served(client, Need::answer);
        continue;
      }
      if (text.starts_with('T')) client.connection.shake_hands();
      if (!text.starts_with('S') && !text.starts_with('T')) client.connection.trust();
      together += (together.empty() ? "" : " ") + text;
      connections_.served(
          client, Need::input,
          text.starts_with('L') ? 2 * Turn::short_max : std::chrono::microseconds(1));
    }
    if (together.empty()) return;
    served_.push_back(last_ = together);
    if (on_served_) on_served_(together);
  }

  std::unique_ptr<Engine> engine_ = open_engine();
  WorkerContext worker_{*engine_};
  boost::asio::io_context io_;
  DoorOptions options_;
  Shared shared_;
  std::vector<std::string> served_;
  std::string last_;  // of all that were served
  std::vector<Taking*> waiting_;
  std::chrono::steady_clock::time_point pauses_until_;
  std::function<void(const std::string&)> on_served_;
  Connections connections_{
      DoorKind::http, worker_, io_, options_, "", [this](ReadySet::Ready ready) { serve(ready); }};
  std::list<Peer> peers_;
};

TEST_F(ConnectionListTest, ServesThoseThatAreReadyTogether) {
  Peer& a = known("a");
  Peer& b = known("b");
  a.send("a");
  b.send("b");
  EXPECT_THAT(run(), ElementsAre("a b"));
}

TEST_F(ConnectionListTest, NewcomersWaitForThoseThatAreKnownAndForOneAnother) {
  Peer& known_one = known("a");
  Peer first(*this);
  Peer second(*this);
  first.send("first");
  second.send("second");
  known_one.send("a");
  EXPECT_THAT(run(), ElementsAre("a", "first", "second"));
  first.send("first");
  second.send("second");
  EXPECT_THAT(run(), ElementsAre("first second")) << "they are known now";
}

TEST_F(ConnectionListTest, StrangersStayNewcomers) {
  Peer& known_one = known("a");
  Peer& stranger = known("S1");
  Peer& other = known("S2");
  stranger.send("S1");
  other.send("S2");
  known_one.send("a");
  EXPECT_THAT(run(), ElementsAre("a", "S1", "S2"));
}

TEST_F(ConnectionListTest, AClientWaitsForNoMoreThanOneLongTurn) {
  Peer& quick = known("a");
  std::vector<Peer*> slow;
  for (const char* const name : {"L1", "L2", "L3"}) slow.push_back(&known(name));
  on_served_ = [&](const std::string& who) {
    if (who.starts_with('L')) quick.send("a");
  };
  for (std::size_t i = 0; i < slow.size(); ++i) slow[i]->send("L" + std::to_string(i + 1));
  EXPECT_THAT(run(), ElementsAre("L1", "a", "L2", "a", "L3", "a"));
}

TEST_F(ConnectionListTest, AShortTurnEndsTheWaiting) {
  Peer& a = known("L1");
  Peer& b = known("b");
  a.send("a");
  EXPECT_THAT(run(), ElementsAre("a"));
  a.send("a");
  b.send("b");
  EXPECT_THAT(run(), ElementsAre("a b"));
}

TEST_F(ConnectionListTest, OneLongTurnOfAQuickClientCountsForLittle) {
  Peer& a = known("a");
  Peer& b = known("b");
  for (const char* const text : {"a", "a", "L", "a"}) {
    a.send(text);
    b.send("b");
    EXPECT_THAT(run(), ElementsAre(text + std::string(" b")));
  }
}

TEST_F(ConnectionListTest, NewcomersDoNotWaitForABacklog) {
  std::vector<Peer*> slow;
  for (const char* const name : {"L1", "L2", "L3"}) slow.push_back(&known(name));
  for (std::size_t i = 0; i < slow.size(); ++i) slow[i]->send("L" + std::to_string(i + 1));
  Peer newcomer(*this);
  newcomer.send("new");
  EXPECT_THAT(run(), ElementsAre("L1", "new", "L2", "L3"));
}

TEST_F(ConnectionListTest, ThoseWhoseAnswersComeTogetherAreServedTogetherAndOnce) {
  Peer& first = known("a");
  Peer& second = known("b");
  first.send("W1");
  second.send("W2");
  EXPECT_THAT(run(), IsEmpty());
  ASSERT_EQ(waiting_.size(), 2u);
  first.send("more");  // is not read while it waits
  EXPECT_THAT(run(), IsEmpty());
  for (const int i : {1, 0, 1}) waiting_[static_cast<std::size_t>(i)]->resume();
  EXPECT_THAT(served_, IsEmpty()) << "not in the middle of whatever has brought the answer";
  EXPECT_THAT(run(), ElementsAre("answered more"));
}

TEST_F(ConnectionListTest, AClientThatLeavesWhileItWaitsIsClosed) {
  auto peer = std::make_unique<Peer>(*this);
  peer->send("W");
  EXPECT_THAT(run(), IsEmpty());
  ASSERT_EQ(waiting_.size(), 1u);
  peer.reset();
  EXPECT_THAT(run(), IsEmpty());
  connections_.stop();
  io_.run();  // returns: nothing is left
}

TEST_F(ConnectionListTest, AClientThatWasClosedMeanwhileIsNotServed) {
  Peer& peer = known("a");
  peer.send("W");
  run();
  waiting_[0]->resume();
  connections_.stop();
  EXPECT_TRUE(peer.is_cut_off());
  EXPECT_THAT(run(), IsEmpty());
}

// As who sends a command and does not wait for the reply. A client in the handshake of TLS cannot
// have sent one.
TEST_F(ConnectionListTest, WhatAClientHasSentBeforeItLeftIsServed) {
  for (const bool established : {true, false}) {
    known("S0");
    auto gone = std::make_unique<Peer>(*this);
    gone->send(established ? "S1" : "T1");
    run();
    peers_.back().send("S0");
    gone->send("S2");
    on_served_ = [](const std::string&) {
      for (const Turn turn(1); !turn.is_over();) {
      }
    };
    while (served_.empty()) io_.poll_one();
    gone.reset();
    run();
    EXPECT_EQ(last_ == "S2", established);
  }
  connections_.stop();
  peers_.clear();
  io_.run();  // returns: those that have gone are closed
}

// A load balancer has one address for all of its clients.
TEST_F(ConnectionListTest, ThoseThatAreKnownDoNotShareByTheirSource) {
  Peer& first = known("L1");
  Peer& second = known("L2");
  const TcpPair third = connect_tcp();
  connections_.open(tcp(third.server), shared_);
  ASSERT_EQ(send(third.client, "L3", 2, 0), 2);
  run();
  first.send("L1");
  second.send("L2");
  ASSERT_EQ(send(third.client, "L3", 2, 0), 2);
  EXPECT_THAT(run(), ElementsAre("L1", "L2", "L3"));
  close(third.client);
}

class CrowdedTest : public ConnectionListTest {
 protected:
  static constexpr std::size_t strangers_max = 50;
  CrowdedTest() : ConnectionListTest(few_connections()) {}

 private:
  static DoorOptions few_connections() {
    DoorOptions options;
    options.connections_max = 4 * strangers_max;
    return options;
  }
};

// Of the addresses, one in 256 is the same source as the Unix socket.
TEST_F(CrowdedTest, AFloodFromOneSourceDrivesOutNobodyFromOthers) {
  constexpr unsigned others = 16;
  std::vector<int> clients;
  for (unsigned i = 0; i < others; ++i) {
    const TcpPair pair = connect_tcp(INADDR_LOOPBACK + 1 + i);
    connections_.open(tcp(pair.server), shared_);
    clients.push_back(pair.client);
  }
  for (std::size_t i = 0; i < 3 * strangers_max; ++i) peers_.emplace_back(*this).send("S");
  EXPECT_TRUE(peers_.front().is_cut_off());
  EXPECT_FALSE(peers_.back().is_cut_off());
  unsigned left = 0;
  for (const int client : clients) {
    char byte = 0;
    if (recv(client, &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN) ++left;
    close(client);
  }
  EXPECT_GE(left, others - 4);
}

class ReplacedTokenTest : private TokenFile, public ConnectionListTest {
 protected:
  ReplacedTokenTest()
      : TokenFile("the-first-token-of-all"), ConnectionListTest(two_connections(path())) {}

  void replace_token() {
    shared_.knows = false;
    EXPECT_TRUE(options_.credentials->reload());
  }

 private:
  static DoorOptions two_connections(const std::string& token_file) {
    DoorOptions options;
    options.credentials =
        Credentials::open({.token = token_file, .read_token = {}, .admin_token = {}, .tls = {}})
            .value();
    options.connections_max = 2;
    options.patience = std::chrono::seconds(0);
    return options;
  }
};

TEST_F(ReplacedTokenTest, ThoseThatHaveShownItMakeRoomForOthers) {
  known("a");
  known("b");
  EXPECT_TRUE(Peer(*this).is_cut_off());
  replace_token();
  const Peer newcomer(*this);
  EXPECT_FALSE(newcomer.is_cut_off());
  EXPECT_TRUE(peers_.front().is_cut_off());
  EXPECT_FALSE(peers_.back().is_cut_off());
}

TEST_F(ReplacedTokenTest, ThoseThatHaveShownItHaveNoIdleTime) {
  const Peer& idle = known("a");
  replace_token();
  while (!idle.is_cut_off()) io_.run_one();
}

class ShortTimeoutTest : public ConnectionListTest {
 protected:
  ShortTimeoutTest() : ConnectionListTest(one_second()) {}

 private:
  static DoorOptions one_second() {
    DoorOptions options;
    options.idle = std::chrono::seconds(1);
    return options;
  }
};

// The second tick is the first one in which the timeout is over that began with the pause.
TEST_F(ShortTimeoutTest, APauseThatEndsWithATickLeavesTimeForTheAnswer) {
  using std::chrono::milliseconds;
  const auto begin = std::chrono::steady_clock::now();
  Peer peer(*this);
  pauses_until_ = begin + milliseconds(2000);
  peer.send("P");
  EXPECT_THAT(run(), IsEmpty());
  io_.run_until(begin + milliseconds(1500));  // the first tick
  // Now the list notices the end of the pause and the second tick together.
  std::this_thread::sleep_until(begin + milliseconds(2050));
  EXPECT_THAT(run(), ElementsAre("answered"));
  EXPECT_FALSE(peer.is_cut_off());
}

TEST_F(ConnectionListTest, AStopServesWhatHasArrived) {
  Peer& slow = known("L1");
  Peer newcomer(*this);
  slow.send("L1");
  newcomer.send("new");
  connections_.stop();
  EXPECT_THAT(std::exchange(served_, {}), ElementsAre("L1 new"));
  EXPECT_TRUE(slow.is_cut_off());
  EXPECT_TRUE(newcomer.is_cut_off());
  EXPECT_THAT(run(), IsEmpty());
}

TEST_F(ConnectionListTest, AStopServesWhatIsQueued) {
  std::list<Peer> newcomers;
  for (const char* const name : {"1", "2", "3"}) newcomers.emplace_back(*this).send(name);
  const auto spin = [](const std::string&) {  // until the others are left for another turn
    for (const Turn turn(1); !turn.is_over();) {
    }
  };
  on_served_ = spin;
  while (served_.empty()) io_.poll_one();
  EXPECT_THAT(served_, ElementsAre("1"));
  connections_.stop();
  EXPECT_THAT(served_, ElementsAre("1", "2", "3"));
}

TEST_F(ConnectionListTest, AStopHearsThoseThatHaveJustCome) {
  Peer& known_one = known("a");
  Peer newcomer(*this);
  connections_.stop();
  EXPECT_TRUE(known_one.is_cut_off());
  newcomer.send("H");
  EXPECT_THAT(run(), ElementsAre("H"));
  EXPECT_FALSE(newcomer.is_cut_off());
  newcomer.send("new");
  EXPECT_THAT(run(), ElementsAre("new"));
  EXPECT_TRUE(newcomer.is_cut_off());
  io_.run();  // returns: nothing is left
}

TEST_F(ConnectionListTest, AStopWaitsForNobodyWhoIsSilent) {
  Peer newcomer(*this);
  connections_.stop();
  EXPECT_FALSE(newcomer.is_cut_off());
  io_.run();  // returns
  EXPECT_TRUE(newcomer.is_cut_off());
}

}  // namespace
}  // namespace headgate::server
