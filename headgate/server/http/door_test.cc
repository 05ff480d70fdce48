// Runs the door on one end of a pair of sockets and a client on the other.
#include "headgate/server/http/door.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <list>
#include <optional>
#include <string>
#include <utility>

#include "headgate/base/testing/allocations.h"
#include "headgate/server/testing/client_end.h"
#include "headgate/server/testing/open_engine.h"
#include "headgate/server/testing/taken_places.h"
#include "headgate/server/testing/tcp_pair.h"
#include "headgate/server/testing/token_file.h"
#include "headgate/server/worker_context.h"

namespace headgate::server {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string read_token = "may-look-but-not-touch";

std::shared_ptr<Credentials> credentials(const std::string& token) {
  const TokenFile file(token);
  const TokenFile read_file(read_token);
  return Credentials::open(
             {.token = file.path(), .read_token = read_file.path(), .admin_token = {}, .tls = {}})
      .value();
}

class HttpDoorTest : public ::testing::Test {
 protected:
  explicit HttpDoorTest(std::unique_ptr<Engine> engine = open_engine())
      : engine_(std::move(engine)) {}

  class Client : public ClientEnd {
   public:
    explicit Client(HttpDoorTest& test) : ClientEnd(test.io_, *test.door_) {}

    // Receives until this text has come, or to the end.
    std::string receive_until(std::string_view text) {
      std::string all;
      while (all.find(text) == std::string::npos) {
        const std::string_view more = receive();
        if (more.empty()) break;
        all += more;
      }
      return all;
    }
  };

  void make_door() { door_ = make_http_door(worker_, io_, options_); }

  std::unique_ptr<Engine> engine_;
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

TEST_F(HttpDoorTest, APageThatResetsItsConnectionTakesNothing) {
  make_door();
  const TcpPair ends = connect_tcp();
  constexpr std::string_view request =
      "GET /auth HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://evil.example\r\n\r\n";
  EXPECT_EQ(send(ends.client, request.data(), request.size(), 0), std::ssize(request));
  reset_by_client(ends);
  Socket gone(io_, boost::asio::generic::stream_protocol(AF_INET, 0), ends.server);
  door_->open(std::move(gone));
  io_.poll();
  Client client(*this);
  client.send("GET /auth HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_THAT(std::string(client.receive()), HasSubstr(";r=999999"));
}

// What is left of the quota tells who was decided first.
TEST_F(HttpDoorTest, ALongPipelineLetsOthersGoFirst) {
  constexpr std::string_view request = "GET /auth HTTP/1.1\r\nHost: h\r\n\r\n";
  constexpr std::size_t backlog = 1500;  // as many as the door receives at once
  make_door();
  const auto decided = [](std::string_view answer) {
    constexpr std::string_view left = ";r=";
    return 1000000 - std::stoul(std::string(answer.substr(answer.find(left) + left.size(), 6)));
  };
  Client greedy(*this);
  std::list<Client> others;
  // Newcomers are served one by one.
  greedy.send(request);
  const std::size_t answer_size = greedy.receive().size();
  EXPECT_GT(answer_size, 0u);
  // When so many are ready together, their turns are as short as they get.
  for (int i = 0; i < 30; ++i) {
    others.emplace_back(*this).send(request);
    EXPECT_EQ(others.back().receive().size(), answer_size);
  }
  std::string requests;
  for (std::size_t i = 0; i < backlog; ++i) requests += request;
  greedy.send(requests);
  for (Client& other : others) other.send(request);
  for (Client& other : others) EXPECT_LT(decided(other.receive()), backlog / 2);
  std::size_t received = 0;
  while (received < backlog * answer_size) received += greedy.receive().size();
  EXPECT_EQ(received, backlog * answer_size);
}

// Whatever the requests of these clients take on average.
TEST_F(HttpDoorTest, ARequestThatTakesLongLetsOthersGoFirst) {
  make_door();
  const std::string head = " HTTP/1.1\r\nHost: h\r\n";
  const std::string request = "GET /auth" + head + "\r\n";
  const std::string longest =
      R"({"checks":[{"policy":"burst","key":")" + std::string(9000, 'k') + "\"}]}";
  const std::string long_ones[] = {
      "GET /metrics" + head + "\r\n", "GET /v1/policies" + head + "\r\n",
      "GET /v1/top" + head + "\r\n", "GET /v1/overrides" + head + "\r\n",
      "POST /v1/decide" + head + "Content-Length: " + std::to_string(longest.size()) + "\r\n\r\n" +
          longest};
  std::list<Client> others;
  for (int i = 0; i < 10; ++i) others.emplace_back(*this);
  Client polite(*this);
  std::size_t decided = 0;
  const auto decide = [&](Client& client) {
    client.send(request);
    EXPECT_THAT(std::string(client.receive()),
                HasSubstr(";r=" + std::to_string(999999 - decided++)));
  };
  for (int i = 0; i < 20; ++i) {
    for (Client& other : others) decide(other);
    decide(polite);
  }
  for (const std::string& long_one : long_ones) {
    for (Client& other : others) other.send(long_one + request);
    decide(polite);
    for (Client& other : others) {
      const std::string all = other.receive_until("Content-Length: 0\r\n\r\n");
      EXPECT_THAT(all, StartsWith("HTTP/1.1 200 OK\r\n"));
      EXPECT_THAT(all, HasSubstr("RateLimit: "));
      ++decided;
    }
  }
}

// A health check, for one, may have an empty one that comes in chunks.
TEST_F(HttpDoorTest, ABodyThatNobodyReadsIsNotWaitedFor) {
  make_door();
  const std::string head = " HTTP/1.1\r\nHost: h\r\n";
  for (const std::string path : {"/healthz", "/"}) {
    for (const std::string body : {"Content-Length: 65000\r\n\r\na", "Content-Length: 2\r\n\r\n{}",
                                   "Transfer-Encoding: chunked\r\n\r\nffff\r\na",
                                   "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"}) {
      Client stranger(*this);
      stranger.send("GET " + path + head + body);
      EXPECT_THAT(std::string(stranger.receive()), StartsWith("HTTP/1.1 200 ")) << path << body;
      EXPECT_EQ(stranger.receive(), "");
    }
    Client client(*this);
    client.send("GET " + path + head + "Content-Length: 0\r\n\r\n");
    EXPECT_THAT(std::string(client.receive()), StartsWith("HTTP/1.1 200 ")) << path;
  }
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
    ASSERT_THAT(client.receive_until("\"policies\""), HasSubstr("\"policies\""));
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
    EXPECT_THAT(client.receive_until("\"policies\""), HasSubstr("\"policies\""));
  }
  for (int i = 0; i < 2; ++i) {
    Client& newcomer = known.emplace_back(*this);
    newcomer.send(trusted);
    EXPECT_THAT(newcomer.receive_until("\"policies\""), HasSubstr("\"policies\""));
  }
  EXPECT_TRUE(strangers.back().is_cut_off());
  Client one_too_many(*this);
  EXPECT_THAT(std::string(one_too_many.receive()), StartsWith("HTTP/1.1 503 "));
}

// Its holders may not decide, and cannot keep those from it who may.
TEST_F(HttpDoorTest, AClientWithTheReadTokenIsAStranger) {
  const std::string token = "correct-horse-battery";
  const auto reads = [](const std::string& shown) {
    return "GET /v1/policies HTTP/1.1\r\nHost: h\r\nX-Headgate-Token: " + shown + "\r\n\r\n";
  };
  options_.connections_max = 1;
  options_.credentials = credentials(token);
  make_door();
  Client reader(*this);
  reader.send(reads(read_token));
  ASSERT_THAT(reader.receive_until("\"policies\""), HasSubstr("\"policies\""));
  Client client(*this);
  EXPECT_TRUE(reader.is_cut_off());
  client.send(reads(token));
  ASSERT_THAT(client.receive_until("\"policies\""), HasSubstr("\"policies\""));
  EXPECT_THAT(std::string(Client(*this).receive()), StartsWith("HTTP/1.1 503 "));
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

// ---- a store that answers later

constexpr std::string_view several =
    "policies:\n"
    "- {name: burst, quota: 5, window: 1d, key: [header:x-key]}\n"
    "- {name: watched, quota: 1, window: 1d, mode: shadow, key: [header:x-key]}\n"
    "- {name: slots, quota: 2, algorithm: concurrency, key: []}\n";

std::string decide(std::string_view policy, std::string_view key, int cost = 1) {
  const std::string body = R"({"checks":[{"policy":")" + std::string(policy) + R"(","key":")" +
                           std::string(key) + R"(","cost":)" + std::to_string(cost) + "}]}";
  return "POST /v1/decide HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

std::string auth(std::string_view key, const std::string& query = "",
                 const std::string& fields = "") {
  return "GET /auth" + query + " HTTP/1.1\r\nHost: h\r\nX-Key: " + std::string(key) +
         "\r\nX-Forwarded-Uri: /\r\nX-Forwarded-Method: GET\r\nX-Forwarded-Host: api\r\n"
         "X-Forwarded-For: 192.0.2.1\r\n" +
         fields + "\r\n";
}

constexpr std::string_view health = "GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n";

class LateHttpDoorTest : public HttpDoorTest {
 protected:
  explicit LateHttpDoorTest(std::string_view policies = several)
      : HttpDoorTest(open_late_engine(policies)), store_(late_store(*engine_)) {
    make_door();
  }
  ~LateHttpDoorTest() override { store_.complete_all(); }

  void run() { run_ready(io_); }
  void complete_all() { server::complete_all(io_, store_); }
  // All that has come by now.
  static std::string all_of(Client& client) {
    std::string all;
    while (true) {
      const std::size_t before = all.size();
      all += client.take();
      if (all.size() == before) return all;
    }
  }

  store::DeferredStore& store_;
};

std::string post(std::string_view path, const std::string& body) {
  return "POST " + std::string(path) +
         " HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         body;
}

std::string reservation_of(std::string_view answer) {
  constexpr std::string_view member = R"("reservation":")";
  const std::size_t at = answer.find(member);
  if (at == std::string_view::npos) return {};
  answer.remove_prefix(at + member.size());
  return std::string(answer.substr(0, answer.find('"')));
}

TEST_F(LateHttpDoorTest, AReservationIsSettledOnce) {
  Client client(*this);
  client.send(post("/v1/reserve", R"({"checks":[{"policy":"burst","key":"a","cost":4}]})"));
  run();
  EXPECT_EQ(client.take(), "");
  complete_all();
  const std::string text = reservation_of(client.receive());
  ASSERT_FALSE(text.empty());
  for (const char* const settled : {"true", "false", "false"}) {
    client.send(post("/v1/settle", R"({"reservation":")" + text + R"(","costs":{"burst":1}})"));
    run();
    EXPECT_EQ(client.take(), "");
    complete_all();
    EXPECT_THAT(std::string(client.receive()),
                HasSubstr(R"({"settled":)" + std::string(settled) + "}"));
  }
  client.send(decide("burst", "a", 0));
  complete_all();
  EXPECT_THAT(std::string(client.receive()), HasSubstr(R"("r":4)"));
}

TEST_F(LateHttpDoorTest, AReservationOfPoliciesThatAreGoneIsNotSettled) {
  const auto put_in_force = [&](std::string_view policies) {
    std::ofstream(engine_->config()) << "version: 1\nstore: {table: {memory: 1MiB}}\n" << policies;
    ASSERT_TRUE(engine_->reload());
    std::filesystem::remove(engine_->config());
  };
  put_in_force(plenty);
  Client client(*this);
  client.send(post("/v1/reserve", R"({"checks":[{"policy":"burst","key":"a","cost":4}]})"));
  complete_all();
  const std::string text = reservation_of(client.receive());
  const std::string settle =
      post("/v1/settle", R"({"reservation":")" + text + R"(","costs":{"burst":1}})");
  const auto answer_to_settle = [&] {
    client.send(settle);
    complete_all();
    return std::string(client.receive());
  };
  put_in_force("policies: [{name: brust, quota: 5, window: 1d}]");
  EXPECT_THAT(answer_to_settle(), HasSubstr("there is no policy 'burst'; did you mean 'brust'?"));
  put_in_force("policies: [{name: burst, quota: 7, window: 1d}]");
  const std::string changed = answer_to_settle();
  EXPECT_THAT(changed, StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(changed, HasSubstr("policy 'burst' has not the quota that was reserved from"));
  EXPECT_EQ(store_.outstanding(), 0u);
  put_in_force(plenty);
  EXPECT_THAT(answer_to_settle(), HasSubstr(R"({"settled":true})"));
}

TEST_F(LateHttpDoorTest, ASettlementDoesNotNeedItsConnection) {
  Client client(*this);
  client.send(post("/v1/reserve", R"({"checks":[{"policy":"burst","key":"a","cost":4}]})"));
  complete_all();
  const std::string text = reservation_of(client.receive());
  {
    Client leaving(*this);
    leaving.send(post("/v1/settle", R"({"reservation":")" + text + R"(","costs":{"burst":0}})"));
    run();
    ASSERT_EQ(store_.outstanding(), 1u);
  }
  complete_all();
  client.send(decide("burst", "a", 0));
  complete_all();
  EXPECT_THAT(std::string(client.receive()), HasSubstr(R"("r":5)"));
}

TEST_F(LateHttpDoorTest, ARequestWaitsAndOthersDoNot) {
  Client first(*this);
  Client other(*this);
  first.send(decide("burst", "a"));
  run();
  EXPECT_EQ(store_.outstanding(), 1u);
  EXPECT_EQ(first.take(), "");
  other.send(health);
  EXPECT_THAT(std::string(other.receive()), HasSubstr("ok"));
  EXPECT_EQ(first.take(), "");
  store_.complete();
  const std::string answer(first.receive());
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr(R"("r":4)"));
  EXPECT_EQ(worker_.answers().outstanding(), 0u);
  first.send(decide("burst", "a"));  // kept alive
  complete_all();
  EXPECT_THAT(std::string(first.receive()), HasSubstr(R"("r":3)"));
}

TEST_F(LateHttpDoorTest, AnswersOfAPipelineKeepTheirOrder) {
  Client client(*this);
  client.send(decide("burst", "a") + std::string(health) + decide("burst", "a", 2) +
              auth("a", "?deny=403") + "GET /healthz HTTP/1.1\r\nHo");
  std::string all;
  for (const char* const waits : {R"("r":4)", R"("r":2)", "X-Headgate-Verdict: admitted"}) {
    while (store_.outstanding() == 0) io_.run_one();
    store_.complete();
    all += client.receive_until(waits);
  }
  client.send("st: h\r\n\r\n");
  all += client.receive_until("ok");
  std::size_t at = 0;
  for (const char* const part :
       {R"("r":4)", "ok", R"("r":2)", "X-Headgate-Verdict: admitted", "ok"}) {
    at = all.find(part, at);
    ASSERT_NE(at, std::string::npos) << part << " in " << all;
  }
}

// The turn in which the store answers ends in the middle of what the client has sent.
TEST_F(LateHttpDoorTest, ALongPipelineGoesOnBehindALateAnswer) {
  constexpr std::size_t metrics = 100;
  Client client(*this);
  std::string pipeline = decide("burst", "a");
  for (std::size_t i = 0; i < metrics; ++i) pipeline += "GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n";
  client.send(pipeline);
  run();
  EXPECT_EQ(client.take(), "");
  store_.complete();
  std::size_t answers = 0;
  for (std::string some = "begin"; !some.empty();) {
    run();
    some = all_of(client);
    for (std::size_t at = 0; (at = some.find("HTTP/1.1 200 OK", at)) != std::string::npos; ++at) {
      ++answers;
    }
  }
  EXPECT_EQ(answers, 1 + metrics);
}

// Every answer is the same as if the store had completed at once.
TEST_F(LateHttpDoorTest, AnswersAreThoseOfAStoreThatCompletesAtOnce) {
  const auto engine = open_engine(several);
  WorkerContext worker(*engine);
  std::unique_ptr<Door> at_once = make_http_door(worker, io_, options_);
  Client late(*this);
  std::swap(door_, at_once);
  Client direct(*this);
  std::swap(door_, at_once);
  const auto without_times = [](std::string text) {
    for (std::size_t at; (at = text.find("Date: ")) != std::string::npos;) {
      text.erase(at, text.find('\n', at) - at + 1);
    }
    for (std::size_t at; (at = text.find("\"wait_ns\":")) != std::string::npos;) {
      text.erase(at, text.find('}', at) - at);
    }
    return text;
  };
  const std::string problem = "Accept: application/problem+json\r\n";
  for (const std::string& request :
       {decide("burst", "a", 3), decide("burst", "a", 3), decide("watched", "a", 2),
        decide("slots", ""), decide("unknown", ""), decide("burst", "b", 0), auth("c"),
        auth("c", "?deny=403"), auth("c", "", problem), auth("a", "", problem),
        auth("a", "?deny=403", problem), auth("c", "?deny=200"),
        std::string("HEAD /auth HTTP/1.1\r\nHost: h\r\nX-Key: k\r\n\r\n"),
        std::string("GET /auth HTTP/1.0\r\nX-Key: k\r\nConnection: keep-alive\r\n\r\n"),
        std::string("GET /auth HTTP/1.1\r\nHost: h\r\nX-Key: k\r\nConnection: close\r\n\r\n")}) {
    late.send(request);
    direct.send(request);
    complete_all();
    const std::string expected = without_times(all_of(direct));
    EXPECT_THAT(expected, StartsWith("HTTP/1.1 "));
    EXPECT_EQ(without_times(all_of(late)), expected) << request;
  }
  EXPECT_TRUE(late.is_cut_off() && direct.is_cut_off()) << "after Connection: close";
}

TEST_F(LateHttpDoorTest, AClientThatLeavesIsChargedAndReleasesItsSlot) {
  auto leaving = std::make_unique<Client>(*this);
  auto waiting = std::make_unique<Client>(*this);
  leaving->send(auth("a"));
  run();
  ASSERT_EQ(store_.outstanding(), 1u);
  leaving.reset();
  run();
  EXPECT_EQ(store_.outstanding(), 1u) << "the call cannot be cancelled";
  store_.complete();
  EXPECT_EQ(store_.outstanding(), 1u) << "the slot is released";
  complete_all();
  EXPECT_EQ(worker_.answers().outstanding(), 0u);
  waiting->send(decide("slots", "", 2) + decide("burst", "a"));
  complete_all();
  const std::string answers = all_of(*waiting);
  EXPECT_THAT(answers, HasSubstr(R"("policy":"slots","admitted":true)"));
  EXPECT_THAT(answers, HasSubstr(R"("r":3)")) << "the request was counted";
}

TEST_F(LateHttpDoorTest, AClientThatOnlyStopsSendingGetsItsAnswer) {
  Client client(*this);
  client.send(decide("burst", "a"));
  client.finish();
  run();
  EXPECT_EQ(client.take(), "");
  store_.complete();
  EXPECT_THAT(std::string(client.receive()), HasSubstr(R"("r":4)"));
  EXPECT_EQ(client.receive(), "");
}

TEST_F(LateHttpDoorTest, AStopWaitsForAnswers) {
  Client waiting(*this);
  Client idle(*this);
  waiting.send(decide("burst", "a"));
  run();
  door_->stop();
  EXPECT_EQ(idle.receive(), "");
  EXPECT_EQ(waiting.take(), "");
  store_.complete();
  EXPECT_THAT(std::string(waiting.receive()), HasSubstr("Connection: close\r\n"));
  EXPECT_EQ(waiting.receive(), "");
  io_.restart();
  io_.run();  // returns
}

TEST_F(LateHttpDoorTest, AReloadWhileARequestWaitsLeavesItsPolicies) {
  Client client(*this);
  client.send(decide("burst", "a"));
  run();
  std::ofstream(engine_->config()) << "version: 1\nstore: {table: {memory: 1MiB}}\n" << plenty;
  ASSERT_TRUE(engine_->reload());
  std::filesystem::remove(engine_->config());
  Client other(*this);
  other.send(decide("burst", "b"));
  run();
  complete_all();
  EXPECT_THAT(std::string(client.receive()), HasSubstr(R"("r":4)"));
  EXPECT_THAT(std::string(other.receive()), HasSubstr(R"("r":999999)"));
}

TEST_F(LateHttpDoorTest, TheDoorMayEndWhileARequestWaits) {
  Client client(*this);
  client.send(auth("a"));
  run();
  door_.reset();
  EXPECT_TRUE(client.is_cut_off());
  store_.complete_all();
  EXPECT_EQ(worker_.answers().outstanding(), 0u);
}

TEST_F(LateHttpDoorTest, NoMoreDecisionsWaitThanThereIsRoomFor) {
  std::optional<TakenPlaces> others(std::in_place, worker_);
  Client client(*this);
  for (const std::string& request : {decide("burst", "a"), auth("a")}) {
    client.send(request);
    const std::string answer(client.receive());
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 503 "));
    EXPECT_THAT(answer, HasSubstr("too many decisions wait for the store"));
  }
  store_.complete_all();
  others.reset();
  client.send(decide("burst", "a"));
  complete_all();
  EXPECT_THAT(std::string(client.receive()), HasSubstr(R"("r":4)"));
}

// A unit comes back after 30 s, so that no answer comes while a test runs.
constexpr std::string_view one_waits =
    "policies: [{name: pace, quota: 1, window: 30s, key: [], delay: 60s, delay-waiting: 1}]";

class DelayTest : public HttpDoorTest {
 protected:
  DelayTest() : HttpDoorTest(open_engine(one_waits)) { make_door(); }

  // Sends a request, and returns whether its answer waits.
  bool waits(Client& client) {
    client.send(auth("a"));
    io_.poll();
    return client.take().empty() && !client.is_cut_off();
  }
};

TEST_F(DelayTest, NoMoreRequestsWaitThanThePolicyLets) {
  Client first(*this);
  std::optional<Client> waiting(std::in_place, *this);
  Client other(*this);
  EXPECT_FALSE(waits(first));
  EXPECT_TRUE(waits(*waiting));
  other.send(auth("a"));
  EXPECT_THAT(std::string(other.receive()), StartsWith("HTTP/1.1 429 "));
  waiting.reset();
  io_.poll();
  EXPECT_TRUE(waits(other)) << "who leaves makes room";
  EXPECT_FALSE(waits(first));
}

TEST_F(DelayTest, ThoseThatWaitCountAlsoAfterAReload) {
  Client first(*this);
  std::optional<Client> waiting(std::in_place, *this);
  EXPECT_FALSE(waits(first));
  EXPECT_TRUE(waits(*waiting));
  std::ofstream(engine_->config())
      << "version: 1\nstore: {table: {memory: 1MiB}}\n"
      << one_waits.substr(0, one_waits.size() - 1) << ", {name: other, quota: 9, window: 1h}]\n";
  ASSERT_TRUE(engine_->reload());
  std::filesystem::remove(engine_->config());
  EXPECT_FALSE(waits(first));
  waiting.reset();
  io_.poll();
  EXPECT_TRUE(waits(first));
}

class LateDelayTest : public LateHttpDoorTest {
 protected:
  LateDelayTest() : LateHttpDoorTest(one_waits) {}
};

TEST_F(LateDelayTest, AClientThatLeavesBeforeItsAnswerIsWrittenMakesRoom) {
  auto first = std::make_unique<Client>(*this);
  first->send(auth("a"));
  complete_all();
  EXPECT_THAT(all_of(*first), StartsWith("HTTP/1.1 200 "));
  first->send(auth("a"));
  run();
  store_.complete();  // it is denied without a wait
  store_.complete();  // and admitted after one
  first.reset();
  door_->stop();  // sees that the client has left before it sees the decision
  run();
  make_door();
  Client next(*this);
  next.send(auth("a"));
  complete_all();
  EXPECT_EQ(all_of(next), "") << "it waits";
}

TEST_F(LateDelayTest, NoAnswerBehindOneThatWaitsShortensItsWait) {
  options_.credentials = credentials("correct-horse-battery");
  make_door();
  const std::string right = "X-Headgate-Token: correct-horse-battery\r\n";
  Client client(*this);
  client.send(auth("a", "", right));
  complete_all();
  EXPECT_THAT(all_of(client), StartsWith("HTTP/1.1 200 "));
  client.send(auth("a", "", right) + auth("a", "", "X-Headgate-Token: wrong\r\n"));
  complete_all();
  DecisionStats::DoorTotals totals;
  worker_.stats().add_to(totals, DoorKind::http);
  EXPECT_EQ(totals.wrong_tokens, 0u) << "it would be answered in 100 ms, and the other one with it";
}

TEST_F(LateHttpDoorTest, ADecisionThatDoesNotComeEndsTheConnection) {
  options_.patience = std::chrono::seconds(0);
  make_door();
  Client client(*this);
  client.send(decide("burst", "a"));
  EXPECT_EQ(client.receive(), "");
  EXPECT_EQ(store_.outstanding(), 1u);
}

}  // namespace
}  // namespace headgate::server
