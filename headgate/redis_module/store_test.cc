// RedisStore on servers with the module: it uses HG.TAKE, and scripts wherever there is no module.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "headgate/redis/redis_store.h"
#include "headgate/redis/testing/blocking.h"
#include "headgate/redis/testing/redis_cluster.h"
#include "headgate/redis/testing/redis_server.h"
#include "headgate/redis/trial.h"
#include "headgate/redis_module/testing/load_obstacle.h"

namespace headgate::redis {
namespace {

using limit::Op;
using store::Charge;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr Nanos second = nanos_per_second;

// While it exists, servers start with what a module needs that is compiled with AddressSanitizer.
class Preloaded {
 public:
  Preloaded() {
    unsetenv("HEADGATE_TEST_CLOCK");
    if (*HEADGATE_PRELOAD == '\0') return;
    setenv("LD_PRELOAD", HEADGATE_PRELOAD, 1);
    setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
  }
  Preloaded(const Preloaded&) = delete;
  Preloaded& operator=(const Preloaded&) = delete;
  ~Preloaded() { unsetenv("LD_PRELOAD"); }
};

const std::vector<std::string> with_module{"--loadmodule", HEADGATE_REDIS_MODULE,
                                           "--enable-module-command", "yes"};

std::unique_ptr<RedisServer> server() {
  const Preloaded preloaded;
  return std::make_unique<RedisServer>(with_module);
}

std::unique_ptr<RedisStore> store_of(const RedisServer& server, const std::string& user = "") {
  Options options;
  options.nodes = {server.address()};
  options.timeout = patience;
  options.user = user;
  if (!user.empty()) options.login.replace({"secret", nullptr});
  return RedisStore::open(std::move(options)).value();
}

limit::Law law(std::uint64_t quota, limit::Algorithm algorithm = limit::Algorithm::linear) {
  return limit::make_law({quota, 86400 * second}, {.algorithm = algorithm}).value();
}

std::string commands_of(const RedisServer& server) {
  return server.command({"INFO", "commandstats"});
}

// Waits until the store is connected: before that, it uses scripts.
void connect(RedisStore& store) {
  const limit::Law any = law(5);
  EXPECT_FALSE(take(store, {{&any, "\1c", 0, Op::peek}}).undecided) << store.status().fault;
}

class RedisStoreWithModule : public testing::Test {
 protected:
  void SetUp() override {
    const std::string obstacle = redis_module::load_obstacle();
    if (!obstacle.empty()) GTEST_SKIP() << obstacle;
  }
};

TEST_F(RedisStoreWithModule, DecidesEveryLawInOneCall) {
  const auto redis = server();
  const auto store = store_of(*redis);
  connect(*store);
  redis->command({"CONFIG", "RESETSTAT"});
  const limit::Law linear = law(10);
  const limit::Law odd = law(7);
  const limit::Law fixed = law(10, limit::Algorithm::fixed_window);
  const limit::Law moving = law(10, limit::Algorithm::moving_window);
  const limit::Law slots = law(2, limit::Algorithm::concurrency);
  const limit::Law closed = law(0);
  const std::vector<Charge> charges{{&linear, "\1l", 3}, {&closed, "\1z", 0}, {&odd, "\1o", 2},
                                    {&fixed, "\1f", 4},  {&moving, "\1m", 5}, {&slots, "\1s", 1}};
  const Taken first = take(*store, charges);
  EXPECT_TRUE(first.admitted) << store->status().fault;
  const std::array<std::uint64_t, 6> left{7, 0, 5, 6, 5, 1};
  for (std::size_t i = 0; i < left.size(); ++i) EXPECT_EQ(first.decisions[i].remaining, left[i]);
  const Taken second_one = take(*store, charges);
  EXPECT_TRUE(second_one.admitted);
  const Taken third = take(*store, charges);
  EXPECT_FALSE(third.admitted);
  EXPECT_EQ(third.decisions[5].wait, limit::Decision::never);
  // One slot is released by the time at which it was taken, and each other op is used once.
  EXPECT_FALSE(take(*store, {{.law = &slots, .key = "\1s", .op = Op::refund, .since = *first.now},
                             {&linear, "\1l", 1, Op::debit}})
                   .undecided);
  const Taken last = take(*store, {{&slots, "\1s", 1, Op::peek}, {&linear, "\1l", 0, Op::peek}});
  EXPECT_TRUE(last.admitted);
  EXPECT_EQ(last.decisions[1].remaining, 3u);
  const std::string commands = commands_of(*redis);
  EXPECT_THAT(commands, HasSubstr("cmdstat_hg.take:calls=5,"));
  EXPECT_THAT(commands, Not(HasSubstr("cmdstat_eval")));
  EXPECT_THAT(commands, Not(HasSubstr("cmdstat_mget")));
}

// Nobody would release them: the caller was answered without Redis.
TEST_F(RedisStoreWithModule, SlotsThatAreTakenTooLateAreFreeAtOnce) {
  const auto redis = server();
  Options options;
  options.nodes = {redis->address()};
  options.timeout = std::chrono::milliseconds(50);
  const auto store = RedisStore::open(std::move(options)).value();
  const limit::Law slots =
      limit::make_law({10, second},
                      {.algorithm = limit::Algorithm::concurrency, .lease = 86400 * second})
          .value();
  const limit::Law any = law(5);
  const auto end = std::chrono::steady_clock::now() + patience;
  const auto left = [&] { return take(*store, {{&slots, "\1a", 0, Op::peek}}); };
  // The test sees that they are taken: a store that Redis has not answered yet uses scripts.
  while (left().undecided || store->status().fault != "") {
    ASSERT_LT(std::chrono::steady_clock::now(), end);
  }
  redis->stop();
  std::vector<std::vector<Charge>> several(3, {{&slots, "\1a", 2}, {&any, "\1b", 1}});
  for (const Taken& taken : take_together(*store, several)) EXPECT_TRUE(taken.undecided);
  redis->go_on();
  Taken found;
  do {
    ASSERT_LT(std::chrono::steady_clock::now(), end);
    found = left();
  } while (found.undecided || found.decisions[0].remaining < 10);
  EXPECT_EQ(take(*store, {{&any, "\1b", 0, Op::peek}}).decisions[0].remaining, 2u)
      << "they were taken";
}

TEST_F(RedisStoreWithModule, RemembersDenialsOfOneUnit) {
  const auto redis = server();
  RedisCounts counts;
  Options options;
  options.nodes = {redis->address()};
  options.timeout = patience;
  options.counts = &counts;
  const auto store = RedisStore::open(options).value();
  connect(*store);
  const limit::Shared shared{limit::OnOutage::local, law(1), true};
  // Whether the second denial of so many units was decided without Redis.
  const auto is_remembered = [&](limit::Algorithm algorithm, std::uint64_t cost) {
    const limit::Law ten = law(10, algorithm);
    const std::string key = "\1" + std::to_string(static_cast<int>(algorithm));
    Charge charge{&ten, key, cost};
    charge.shared = &shared;
    while (take(*store, {charge}).admitted) {
    }
    const std::uint64_t before = counts.remembered;
    const Taken denied = take(*store, {charge});
    EXPECT_FALSE(denied.admitted || denied.undecided);
    EXPECT_EQ(denied.decisions[0].remaining, 0U);
    EXPECT_GT(denied.decisions[0].wait, second);
    return counts.remembered > before;
  };
  for (const limit::Algorithm algorithm :
       {limit::Algorithm::linear, limit::Algorithm::fixed_window, limit::Algorithm::moving_window,
        limit::Algorithm::sliding_window_counter}) {
    EXPECT_TRUE(is_remembered(algorithm, 1)) << static_cast<int>(algorithm);
  }
  EXPECT_FALSE(is_remembered(limit::Algorithm::exponential, 1)) << "a unit may come back earlier";
  // Under another quota, as that of an override, the denial may not hold.
  const limit::Law twenty = law(20, limit::Algorithm::fixed_window);
  const std::string fixed = "\1" + std::to_string(static_cast<int>(limit::Algorithm::fixed_window));
  Charge more{&twenty, fixed, 1};
  more.shared = &shared;
  EXPECT_TRUE(take(*store, {more}).admitted);
}

TEST_F(RedisStoreWithModule, DeniedByALawWithoutAStateIsDecidedByScripts) {
  const auto redis = server();
  const auto store = store_of(*redis);
  connect(*store);
  const limit::Law linear = law(10);
  const limit::Law closed = law(0);
  const Taken taken = take(*store, {{&closed, "\1z", 1}, {&linear, "\1l", 3}});
  EXPECT_FALSE(taken.admitted);
  EXPECT_FALSE(taken.undecided);
  EXPECT_EQ(taken.decisions[1].remaining, 10u) << "nothing was taken";
}

TEST_F(RedisStoreWithModule, ACheckSaysThatTheModuleIsThere) {
  const std::string found = "it has headgate's module, which decides instead of scripts";
  const auto with = server();
  const RedisServer without;
  const std::array<const RedisServer*, 2> both{with.get(), &without};
  for (const RedisServer* one : both) {
    Options options;
    options.nodes = {one->address()};
    options.timeout = patience;
    const Trial trial = try_redis(options);
    EXPECT_THAT(trial.faults, IsEmpty());
    EXPECT_THAT(trial.findings, Contains(HasSubstr(found)).Times(one == with.get() ? 1 : 0));
  }
}

TEST_F(RedisStoreWithModule, AUserWithoutTheRightUsesScripts) {
  const auto redis = server();
  redis->command({"ACL", "SETUSER", "headgate", "on", ">secret", "~hg:*", "+role", "+script|load",
                  "+eval", "+evalsha", "+get", "+set", "+mget", "+time"});
  const auto store = store_of(*redis, "headgate");
  connect(*store);
  const limit::Law linear = law(10);
  EXPECT_TRUE(take(*store, {{&linear, "\1l", 3}}).admitted) << store->status().fault;
  EXPECT_THAT(commands_of(*redis), HasSubstr("cmdstat_evalsha"));
}

// Adds up what two callers are granted while `disturb` runs, until every key has denied.
void expect_exactly_the_quotas(const std::function<std::unique_ptr<RedisStore>()>& open,
                               const std::function<void()>& disturb) {
  constexpr std::size_t keys = 12;
  constexpr std::uint64_t quota = 60;
  const std::array<limit::Law, 3> laws{law(quota), law(quota, limit::Algorithm::fixed_window),
                                       law(quota, limit::Algorithm::moving_window)};
  std::array<std::atomic<std::uint64_t>, keys> admitted{};
  std::array<std::atomic<std::uint64_t>, keys> undecided{};  // these may be charged
  std::atomic<bool> disturbed{false};
  const auto spend = [&] {
    const auto store = open();
    for (;;) {
      bool all_denied = true;
      for (std::size_t i = 0; i < keys; ++i) {
        // While something changes only a part, so that quota is left for what comes after.
        const std::uint64_t cost = !disturbed && admitted[i] > quota / 2 ? 0 : 1;
        const std::string key = "\1p\2k" + std::string(1, static_cast<char>('a' + i));
        const Taken taken = take(*store, {{&laws[i % laws.size()], key, cost}});
        if (taken.undecided) undecided[i] += cost;
        if (taken.admitted && !taken.undecided) admitted[i] += cost;
        all_denied = all_denied && !taken.undecided && !taken.admitted;
      }
      if (disturbed && all_denied) return;
    }
  };
  std::thread one(spend);
  std::thread other(spend);
  disturb();
  disturbed = true;
  one.join();
  other.join();
  for (std::size_t i = 0; i < keys; ++i) {
    EXPECT_LE(admitted[i], quota) << i;
    EXPECT_GE(admitted[i] + undecided[i], quota) << i << ": a false denial";
  }
}

TEST_F(RedisStoreWithModule, TheModuleIsUnloadedAndLoadedUnderLoad) {
  const auto redis = server();
  // Waits until the callers use this command.
  const auto see = [&](const std::string& command) {
    redis->command({"CONFIG", "RESETSTAT"});
    EXPECT_TRUE(soon([&] {
      return commands_of(*redis).find("cmdstat_" + command) != std::string::npos;
    })) << command;
  };
  expect_exactly_the_quotas(
      [&] { return store_of(*redis); },
      [&] {
        see("hg.take");
        for (int round = 0; round < 3; ++round) {
          EXPECT_EQ(redis->command({"MODULE", "UNLOAD", "headgate"}), "OK");
          see("evalsha");
          EXPECT_EQ(redis->command({"MODULE", "LOAD", HEADGATE_REDIS_MODULE}), "OK");
          // New connections find it again.
          redis->command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
          see("hg.take");
        }
      });
}

// Nodes with the module and without it, while slots move between them, and while nodes get it and
// lose it.
TEST_F(RedisStoreWithModule, AMixedClusterGivesNoMoreThanTheQuotas) {
  std::unique_ptr<RedisCluster> cluster;
  {
    const Preloaded preloaded;
    cluster = std::make_unique<RedisCluster>(with_module);
  }
  const auto set_module = [&](std::size_t node, bool loaded) {
    const std::string done =
        loaded ? cluster->node(node).command({"MODULE", "LOAD", HEADGATE_REDIS_MODULE})
               : cluster->node(node).command({"MODULE", "UNLOAD", "headgate"});
    EXPECT_EQ(done, "OK") << node;
  };
  set_module(1, false);
  const auto open = [&] {
    Options options = cluster->options(2);
    options.timeout = std::chrono::seconds(5);
    return RedisStore::open(options).value();
  };
  expect_exactly_the_quotas(open, [&] {
    for (int round = 0; round < 2; ++round) {
      for (char c = 'a'; c < 'a' + 6; ++c) {
        const std::string key = "\1p\2k" + std::string(1, c);
        cluster->move(slot_of(redis_key("hg:", law(1), key)));
      }
      set_module(round == 0 ? 0 : 2, false);
      set_module(round == 0 ? 1 : 0, true);
    }
  });
}

}  // namespace
}  // namespace headgate::redis
