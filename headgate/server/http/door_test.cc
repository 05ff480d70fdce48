// Runs the door on one end of a pair of sockets and a client on the other.
#include "headgate/server/http/door.h"

#include <gmock/gmock.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <list>
#include <string>

#include "headgate/base/testing/allocations.h"
#include "headgate/server/testing/open_engine.h"
#include "headgate/server/worker_context.h"

namespace headgate::server {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::shared_ptr<Credentials> credentials(const std::string& token) {
  const std::string file =
      (std::filesystem::path(::testing::TempDir()) / ("http_token_" + std::to_string(getpid())))
          .string();
  std::ofstream(file) << token << '\n';
  auto credentials = Credentials::open({.token = file, .read_token = {}, .tls = {}});
  std::filesystem::remove(file);
  return std::move(credentials.value());
}

class HttpDoorTest : public ::testing::Test {
 protected:
  // One end of a connection to the door.
  class Client {
   public:
    explicit Client(HttpDoorTest& test) : test_(test) {
      int ends[2];
      EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
      fd_ = ends[0];
      Socket socket(test.io_, boost::asio::generic::stream_protocol(AF_UNIX, 0), ends[1]);
      socket.non_blocking(true);
      test.door_->open(std::move(socket));
    }
    ~Client() { close(fd_); }

    void send(std::string_view text) const {
      EXPECT_EQ(::send(fd_, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
    }
    // Whether the door has closed its end.
    [[nodiscard]] bool is_cut_off() const {
      pollfd end{fd_, 0, 0};
      return poll(&end, 1, 0) == 1 && (end.revents & POLLHUP) != 0;
    }
    // Returns how many bytes have come, and takes them.
    std::size_t receive_now() {
      std::size_t all = 0;
      for (ssize_t count; (count = recv(fd_, room_, sizeof room_, 0)) > 0;) {
        all += static_cast<std::size_t>(count);
      }
      return all;
    }
    // Waits for bytes and returns them; empty at the end. Runs the door meanwhile.
    std::string_view receive() {
      while (true) {
        const ssize_t count = recv(fd_, room_, sizeof room_, 0);
        if (count >= 0) return {room_, static_cast<std::size_t>(count)};
        if (test_.io_.stopped()) test_.io_.restart();
        EXPECT_GT(test_.io_.run_one(), 0u);
      }
    }

   private:
    HttpDoorTest& test_;
    int fd_;
    char room_[65536];
  };

  void make_door() { door_ = make_http_door(worker_, io_, options_); }

  std::unique_ptr<Engine> engine_ = open_engine();
  WorkerContext worker_{*engine_};
  boost::asio::io_context io_;
  DoorOptions options_;
  std::unique_ptr<Door> door_;
};

TEST_F(HttpDoorTest, AnIdleConnectionIsClosed) {
  options_.idle = std::chrono::seconds(0);
  make_door();
  Client client(*this);
  EXPECT_EQ(client.receive(), "");
}

TEST_F(HttpDoorTest, ARequestThatDoesNotArriveIsAborted) {
  options_.patience = std::chrono::seconds(0);
  make_door();
  Client client(*this);
  client.send("GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_THAT(std::string(client.receive()), StartsWith("HTTP/1.1 200 OK\r\n"));
  client.send("GET /healthz HTTP/1.1\r\nHo");
  EXPECT_EQ(client.receive(), "");
}

TEST_F(HttpDoorTest, AnAnswerThatIsNotReadIsAborted) {
  options_.patience = std::chrono::seconds(0);
  make_door();
  Client client(*this);
  std::string requests;
  for (int i = 0; i < 1000; ++i) requests += "GET /v1/policies HTTP/1.1\r\nHost: h\r\n\r\n";
  client.send(requests);
  while (!client.is_cut_off()) io_.run_one();
}

TEST_F(HttpDoorTest, ConnectionsBeyondTheMaximumGet503) {
  options_.connections_max = 1;
  make_door();
  Client first(*this);
  Client second(*this);
  EXPECT_THAT(std::string(second.receive()), StartsWith("HTTP/1.1 503 "));
  EXPECT_EQ(second.receive(), "");
  first.send("GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_THAT(std::string(first.receive()), StartsWith("HTTP/1.1 200 "));
}

TEST_F(HttpDoorTest, ALongPipelineLetsOthersGoFirst) {
  constexpr std::string_view request = "GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n";
  constexpr std::size_t backlog = 1500;  // as many as the door receives at once
  make_door();
  Client greedy(*this);
  Client other(*this);
  std::string requests;
  for (std::size_t i = 0; i < backlog; ++i) requests += request;
  greedy.send(requests);
  other.send(request);
  const std::size_t answer_size = other.receive().size();
  EXPECT_GT(answer_size, 0u);
  std::size_t received = greedy.receive_now();
  EXPECT_LT(received, backlog * answer_size / 2);
  while (received < backlog * answer_size) received += greedy.receive().size();
  EXPECT_EQ(received, backlog * answer_size);
}

TEST_F(HttpDoorTest, StrangersMakeRoomForOneAnotherAndNotForThoseWithTheToken) {
  const std::string token = "correct-horse-battery";
  const std::string trusted =
      "GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n"
      "GET /v1/policies HTTP/1.1\r\nHost: h\r\nX-Headgate-Token: " +
      token + "\r\n\r\n";
  options_.connections_max = 8;  // of which strangers have two
  options_.credentials = credentials(token);
  make_door();
  std::list<Client> known;
  for (int i = 0; i < 6; ++i) {
    Client& client = known.emplace_back(*this);
    client.send(trusted);
    ASSERT_THAT(std::string(client.receive()), HasSubstr("\"policies\""));
  }
  std::list<Client> strangers;
  for (int i = 0; i < 10; ++i) strangers.emplace_back(*this).send("GET /me");
  io_.poll();
  std::size_t left = 0;
  for (const Client& stranger : strangers) left += stranger.is_cut_off() ? 0 : 1;
  EXPECT_EQ(left, 2u);
  EXPECT_FALSE(strangers.back().is_cut_off()) << "the oldest go first";
  for (Client& client : known) {
    client.send(trusted);
    EXPECT_THAT(std::string(client.receive()), HasSubstr("\"policies\""));
  }
  for (int i = 0; i < 2; ++i) {
    Client& newcomer = known.emplace_back(*this);
    newcomer.send(trusted);
    EXPECT_THAT(std::string(newcomer.receive()), HasSubstr("\"policies\""));
  }
  EXPECT_TRUE(strangers.back().is_cut_off());
  Client one_too_many(*this);
  EXPECT_THAT(std::string(one_too_many.receive()), StartsWith("HTTP/1.1 503 "));
}

TEST_F(HttpDoorTest, AStrangerHasNoIdleTime) {
  options_.credentials = credentials("correct-horse-battery");
  options_.patience = std::chrono::seconds(0);
  make_door();
  Client client(*this);
  EXPECT_EQ(client.receive(), "");
}

TEST_F(HttpDoorTest, AStopLeavesNothingToWaitFor) {
  make_door();
  Client idle(*this);
  Client busy(*this);
  busy.send("GET /healthz HTTP/1.1\r\n");
  io_.poll();
  door_->stop();
  EXPECT_EQ(idle.receive(), "");
  busy.send("Host: h\r\n\r\n");
  EXPECT_THAT(std::string(busy.receive()), HasSubstr("Connection: close\r\n"));
  EXPECT_EQ(busy.receive(), "");
  io_.restart();
  io_.run();  // returns
}

TEST_F(HttpDoorTest, AStopAnswersWhatHasCome) {
  make_door();
  Client client(*this);
  client.send("GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n");
  door_->stop();
  EXPECT_THAT(std::string(client.receive()), HasSubstr("Connection: close\r\n"));
  EXPECT_EQ(client.receive(), "");
}

TEST_F(HttpDoorTest, AStopAnswersWhatHasComeFromManyClients) {
  constexpr std::size_t crowd = 1000;  // more than are served before others have their turn
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  if (files.rlim_max < 2 * crowd + 100) GTEST_SKIP() << "too few files may be open";
  make_door();
  std::list<Client> clients;
  for (std::size_t i = 0; i < crowd; ++i) {
    clients.emplace_back(*this).send("GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n");
  }
  door_->stop();
  for (Client& client : clients) {
    ASSERT_THAT(std::string(client.receive()), StartsWith("HTTP/1.1 200 OK\r\n"));
    ASSERT_EQ(client.receive(), "");
  }
}

TEST_F(HttpDoorTest, ARequestAllocatesNothing) {
  make_door();
  Client client(*this);
  const std::string_view requests[] = {
      "GET /auth?deny=403 HTTP/1.1\r\nHost: h\r\nX-Forwarded-Uri: /a%20b//c?d\r\n"
      "X-Forwarded-Method: GET\r\nX-Forwarded-Host: api.example\r\n"
      "X-Forwarded-For: 192.0.2.1, 192.0.2.2\r\n\r\n",
      "POST /v1/decide HTTP/1.1\r\nHost: h\r\nContent-Length: 76\r\n\r\n"
      R"({"checks":[{"policy":"burst","key":"a key of some length, more than 15"}]}  )",
  };
  for (const std::string_view request : requests) {
    std::size_t before = 0;
    for (int i = 0; i < 100; ++i) {
      if (i == 50) before = allocations();
      client.send(request);
      const std::string_view answer = client.receive();
      ASSERT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n"));
      ASSERT_NE(answer.find("\"burst"), std::string_view::npos);
    }
    EXPECT_EQ(allocations(), before);
  }
}

}  // namespace
}  // namespace headgate::server
