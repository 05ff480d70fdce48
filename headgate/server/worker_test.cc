// The thread of a server is short of memory or of descriptors.

#include "headgate/server/worker.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "headgate/base/testing/allocations.h"
#include "headgate/server/http/door.h"
#include "headgate/server/resp/door.h"
#include "headgate/server/testing/open_engine.h"

namespace headgate::server {
namespace {

void await(const std::function<bool()>& is_so) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!is_so()) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// A worker with a door of each kind.
class RunningWorker {
 public:
  explicit RunningWorker(Engine& engine) : worker_(engine, options_) {
    listen(http_);
    listen(resp_);
    worker_.start();
  }
  // Ends it as a signal does.
  ~RunningWorker() {
    worker_.stop();
    await([&] { return worker_.ended(); });
  }
  RunningWorker(const RunningWorker&) = delete;
  RunningWorker& operator=(const RunningWorker&) = delete;

  [[nodiscard]] const net::Endpoint& http() const { return http_.endpoint; }
  [[nodiscard]] const net::Endpoint& resp() const { return resp_.endpoint; }

 private:
  void listen(Listening& listening) {
    worker_.listen(listening, listening.endpoint.listen().value());
  }

  const DoorOptions options_;
  Listening http_{DoorKind::http, net::Endpoint::parse("127.0.0.1:0").value(), make_http_door};
  Listening resp_{DoorKind::resp, net::Endpoint::parse("127.0.0.1:0").value(), make_resp_door};
  Worker worker_;
};

class Client {
 public:
  Client() {
    const timeval patience{.tv_sec = 30, .tv_usec = 0};
    EXPECT_EQ(setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience), 0);
  }
  ~Client() { close(fd_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void connect(const net::Endpoint& endpoint) const {
    const std::string& text = endpoint.text();
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port =
        htons(static_cast<std::uint16_t>(std::stoi(text.substr(text.rfind(':') + 1))));
    EXPECT_EQ(::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  // Returns what comes until the end of the connection, which may come at once.
  [[nodiscard]] std::string ask(std::string_view request) const {
    send(fd_, request.data(), request.size(), MSG_NOSIGNAL);
    std::string all;
    char room[1024];
    for (ssize_t got; (got = recv(fd_, room, sizeof room, 0)) > 0;) {
      all.append(room, static_cast<std::size_t>(got));
    }
    return all;
  }

 private:
  const int fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
};

constexpr std::string_view http_request =
    "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

std::string ask_http(const RunningWorker& worker) {
  const Client client;
  client.connect(worker.http());
  return client.ask(http_request);
}

std::string ask_resp(const RunningWorker& worker) {
  const Client client;
  client.connect(worker.resp());
  return client.ask("PING\r\nQUIT\r\n");
}

bool is_answered(const std::string& http, const std::string& resp) {
  return http.starts_with("HTTP/1.1 200 ") && resp == "+PONG\r\n+OK\r\n";
}

TEST(Worker, AFailedAllocationEndsOneConnectionAtMost) {
  const auto engine = open_engine();
  std::size_t failures = 0;
  for (bool happened = true; happened; ++failures) {
    const RunningWorker worker(*engine);
    {
      const FailingAllocation failing(failures);
      const std::string http = ask_http(worker);
      const std::string resp = ask_resp(worker);
      happened = failing.happened();
      EXPECT_TRUE(happened || is_answered(http, resp)) << http << resp;
    }
    ASSERT_TRUE(is_answered(ask_http(worker), ask_resp(worker))) << "after failure " << failures;
  }
  EXPECT_GT(failures, 10u);
}

// While it lives, the process has no descriptor left.
class NoDescriptors {
 public:
  NoDescriptors() {
    getrlimit(RLIMIT_NOFILE, &before_);
    const int next = dup(STDERR_FILENO);
    close(next);
    rlimit none = before_;
    none.rlim_cur = static_cast<rlim_t>(next);
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  }
  ~NoDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit before_{};
};

TEST(Worker, WhoCannotBeAcceptedWaitsAndIsCounted) {
  const auto engine = open_engine();
  const RunningWorker worker(*engine);
  std::uint64_t failures = 0;
  int error = 0;
  const Client client;
  {
    const NoDescriptors none;
    client.connect(worker.http());
    await([&] {
      engine->for_each_worker([&](const WorkerContext& context) {
        failures = context.stats().accept_failures();
        error = context.stats().last_accept_error();
      });
      return failures > 1;
    });
  }
  EXPECT_EQ(error, EMFILE);
  EXPECT_TRUE(client.ask(http_request).starts_with("HTTP/1.1 200 "));
}

}  // namespace
}  // namespace headgate::server
