// Redis and a table as the store of a policy file.

#include "headgate/redis/policy_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/redis/settings_options.h"
#include "headgate/redis/testing/blocking.h"
#include "headgate/redis/testing/redis_server.h"
#include "headgate/store/table.h"

namespace headgate::redis {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class PolicyStoreTest : public testing::Test {
 protected:
  // Stands still while no test moves it.
  static PolicyStore::Time now() noexcept { return PolicyStore::Time(time.load()); }

  std::unique_ptr<PolicyStore> open(const RedisServer& server,
                                    Nanos timeout = 5 * nanos_per_second) {
    policy::RedisSettings settings;
    settings.nodes = {server.address()};
    settings.timeout = timeout;
    return PolicyStore::open(
               settings, *table_, counts_,
               [this](bool is_fault, const std::string& line) {
                 const std::lock_guard lock(mutex_);
                 lines_.push_back((is_fault ? "fault: " : "") + line);
               },
               now)
        .value();
  }
  Taken spend(PolicyStore& store, std::uint64_t cost = 1) {
    store::Charge charge{&law_, "\1k", cost};
    charge.shared = &shared_;
    return take(store, {charge});
  }
  std::vector<std::string> lines() {
    const std::lock_guard lock(mutex_);
    return lines_;
  }

  const limit::Law law_ = limit::make_law({10, 3600 * nanos_per_second}, {}).value();
  const limit::Shared shared_{limit::OnOutage::local, law_};
  const std::unique_ptr<store::Table> table_ = store::Table::open({.memory = 1 << 20}).value();
  RedisCounts counts_;
  static inline std::atomic<std::chrono::seconds> time{};
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

TEST_F(PolicyStoreTest, LogsAnOutageOnceWhenItBeginsAndOnceWhenItIsOver) {
  RedisServer server;
  const auto store = open(server);
  EXPECT_TRUE(spend(*store).admitted);
  EXPECT_TRUE(store->status().up);
  EXPECT_THAT(lines(), IsEmpty());
  EXPECT_GE(counts_.round_trips.load(), 1U);

  server.kill();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(spend(*store).admitted) << "counted alone";
  EXPECT_THAT(lines(), ElementsAre(StartsWith(
                           "fault: Redis is away, and policies are decided as their on-outage "
                           "says: unix:")));
  EXPECT_FALSE(store->status().up);

  server.start();
  while (lines().size() < 2) spend(*store, 0);  // until a second after it is connected again
  EXPECT_THAT(lines()[1], StartsWith("Redis is back after "));
  EXPECT_EQ(spend(*store).decisions[0].remaining, 9U) << "Redis has lost what it knew";
}

TEST_F(PolicyStoreTest, LogsAnotherReasonOfAnOutageAtMostEachTenSeconds) {
  RedisServer server({"--replicaof", "127.0.0.1 1"});
  server.kill();
  const auto store = open(server);
  const auto spend_until = [&](std::string_view reason) {
    do {
      spend(*store);
    } while (store->status().fault.find(reason) == std::string::npos);
  };
  const auto pass = [&](std::chrono::seconds span) {
    time = time.load() + span;
    spend(*store);
  };
  const auto away = AllOf(StartsWith("fault: Redis is away, "), HasSubstr("it cannot be reached"));
  spend_until("it cannot be reached");
  server.start();
  spend_until("it is a replica");
  pass(std::chrono::seconds(9));
  EXPECT_THAT(lines(), ElementsAre(away)) << "it is too early";
  pass(std::chrono::seconds(1));
  const auto other = AllOf(StartsWith("fault: Redis is still away after 10.000 s: unix:"),
                           EndsWith("it is a replica; expected the primary"));
  EXPECT_THAT(lines(), ElementsAre(away, other));
  for (int i = 0; i < 3; ++i) pass(std::chrono::seconds(10));
  EXPECT_THAT(lines(), ElementsAre(away, other)) << "the reason is the same";

  server.kill();
  spend_until("it cannot be reached");
  pass(std::chrono::seconds(10));
  EXPECT_THAT(lines(), ElementsAre(away, other, HasSubstr("still away after 50.000 s: unix:")));
}

TEST_F(PolicyStoreTest, CountsTimeouts) {
  const RedisServer server;
  const auto store = open(server, 20'000'000);
  while (!spend(*store, 0).now || counts_.round_trips.load() == 0) {
  }
  server.stop();
  EXPECT_TRUE(spend(*store).admitted);
  server.go_on();
  EXPECT_GE(counts_.timeouts.load(), 1U);
}

TEST(RedisOptions, ReadTheFilesThatTheSettingsName) {
  const std::string path = testing::TempDir() + "headgate-password-" + std::to_string(getpid());
  policy::RedisSettings settings;
  settings.nodes = {{"a", "1"}};
  settings.password_file = path;
  EXPECT_EQ(options_of(settings).error(), "password-file " + path +
                                              " can't be read: No such file or directory; expected "
                                              "a file whose first line is Redis' password");
  std::ofstream(path) << "\nsecret\n";
  EXPECT_THAT(options_of(settings).error(), HasSubstr("is empty"));
  std::ofstream(path) << std::string(2000, 'x');
  EXPECT_THAT(options_of(settings).error(), HasSubstr("has a longer line"));
  std::ofstream(path) << "secret\r\nnot\n";
  EXPECT_EQ(options_of(settings)->login.get().password, "secret");
  EXPECT_EQ(options_of(settings)->timeout.count(), 50);
  settings.tls.emplace().ca = path + ".pem";
  EXPECT_THAT(options_of(settings).error(), StartsWith("tls: "));
  unlink(path.c_str());
}

}  // namespace
}  // namespace headgate::redis
