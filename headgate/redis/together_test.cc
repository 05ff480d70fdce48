// Bundles that share keys and are not decided by the script alone are decided together, and as if
// one came after the other.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <random>
#include <string>
#include <vector>

#include "headgate/redis/all_or_none.h"
#include "headgate/redis/key.h"
#include "headgate/redis/key_state.h"
#include "headgate/redis/redis_store.h"
#include "headgate/redis/testing/blocking.h"
#include "headgate/redis/testing/redis_server.h"

namespace headgate::redis {
namespace {

using limit::Algorithm;
using limit::Op;

constexpr Nanos second = nanos_per_second;

std::unique_ptr<RedisStore> open(const RedisServer& server, Clock clock,
                                 std::chrono::milliseconds timeout = std::chrono::seconds(60)) {
  Options options;
  options.nodes = {server.address()};
  options.timeout = timeout;
  options.clock = clock;
  return RedisStore::open(options).value();
}

int calls_of(const RedisServer& server, const std::string& command) {
  const std::string stats = server.command({"INFO", "commandstats"});
  const std::string name = "cmdstat_" + command + ":calls=";
  const std::size_t at = stats.find(name);
  return at == std::string::npos ? 0 : std::stoi(stats.substr(at + name.size()));
}

struct Case {
  Algorithm of_client;
  bool client_first;
};

// A quota of each client beside one of everybody.
class TogetherTest : public testing::TestWithParam<Case> {};

TEST_P(TogetherTest, ClientsBesideAQuotaOfEverybodyNeedFewCalls) {
  const RedisServer server;
  const auto store = open(server, Clock::redis);
  const limit::Law own =
      limit::make_law({5, 3600 * second}, {.algorithm = GetParam().of_client}).value();
  const limit::Law all =
      limit::make_law({70, 3600 * second}, {.algorithm = Algorithm::fixed_window}).value();
  std::vector<std::string> names;
  for (int i = 0; i < 100; ++i) names.push_back("\1client" + std::to_string(i));
  std::vector<std::vector<store::Charge>> bundles;
  for (const std::string& name : names) {
    const store::Charge client{&own, name};
    const store::Charge everybody{&all, "\1all"};
    bundles.push_back(GetParam().client_first ? std::vector{client, everybody}
                                              : std::vector{everybody, client});
  }
  ASSERT_FALSE(take(*store, {{&own, "\1warm", 0}}).undecided);
  server.command({"CONFIG", "RESETSTAT"});
  int admitted = 0;
  for (const Taken& taken : take_together(*store, bundles)) {
    ASSERT_FALSE(taken.undecided) << store->status().fault;
    admitted += taken.admitted ? 1 : 0;
  }
  EXPECT_EQ(admitted, 70);
  EXPECT_LE(calls_of(server, "evalsha"), 7);
  EXPECT_LE(calls_of(server, "mget"), 7);
}

INSTANTIATE_TEST_SUITE_P(Laws, TogetherTest,
                         testing::Values(Case{Algorithm::linear, true},
                                         Case{Algorithm::linear, false},
                                         Case{Algorithm::fixed_window, true},
                                         Case{Algorithm::fixed_window, false},
                                         Case{Algorithm::moving_window, true},
                                         Case{Algorithm::sliding_window_counter, true},
                                         Case{Algorithm::exponential, true}));

// Random bundles, all of which have one key, so that they are decided in the order of the call.
TEST(Together, DecidesAsIfOneCameAfterTheOther) {
  const RedisServer server;
  const auto store = open(server, Clock::caller);
  std::mt19937_64 dice{11};
  const auto below = [&](std::uint64_t end) { return dice() % end; };
  constexpr std::array algorithms{Algorithm::linear,       Algorithm::linear,
                                  Algorithm::fixed_window, Algorithm::moving_window,
                                  Algorithm::exponential,  Algorithm::sliding_window_counter};
  for (int history = 0; history < 60; ++history) {
    const std::size_t keys = 2 + below(5);
    std::vector<std::string> names;
    std::vector<limit::Law> laws;
    std::vector<std::string> states(keys);
    for (std::size_t i = 0; i < keys; ++i) {
      limit::Terms terms;
      terms.algorithm = i == 0 ? Algorithm::fixed_window : algorithms[below(algorithms.size())];
      const bool counts = terms.algorithm == Algorithm::linear && below(3) == 0;
      if (counts) terms.denied = limit::Denied::spend;
      const std::uint64_t quota = i == 0 ? 30 + below(30) : 1 + below(8);
      laws.push_back(limit::make_law({quota, 10 * second}, terms).value());
      names.push_back("\1" + std::string(1, static_cast<char>('a' + i)) + std::to_string(history));
    }
    Instant now{1'700'000'000 * second};
    for (int step = 0; step < 6; ++step) {
      now.ns += static_cast<Nanos>(below(6)) * second;
      std::vector<std::vector<store::Charge>> bundles(1 + below(40));
      for (std::vector<store::Charge>& charges : bundles) {
        for (std::size_t i = 0; i < keys; ++i) {
          if (i > 0 && below(2) == 0) continue;
          const Op op = below(4) > 0 ? Op::spend : static_cast<Op>(below(3));
          charges.push_back({&laws[i], names[i], below(4), op});
        }
        std::shuffle(charges.begin(), charges.end(), dice);
      }
      const std::vector<Taken> taken = take_together(*store, bundles, now);
      for (std::size_t b = 0; b < bundles.size(); ++b) {
        ASSERT_FALSE(taken[b].undecided) << store->status().fault;
        std::vector<KeyState> model;
        for (const store::Charge& charge : bundles[b]) {
          model.emplace_back(*charge.law, states[static_cast<std::size_t>(charge.key[1] - 'a')]);
        }
        std::vector<limit::Decision> decisions(bundles[b].size());
        const bool admitted = decide_all_or_none(bundles[b], model, now, decisions);
        ASSERT_EQ(taken[b].admitted, admitted)
            << "history " << history << ", step " << step << ", bundle " << b;
        ASSERT_EQ(taken[b].decisions, decisions)
            << "history " << history << ", step " << step << ", bundle " << b;
        for (std::size_t i = 0; i < model.size(); ++i) {
          const auto key = static_cast<std::size_t>(bundles[b][i].key[1] - 'a');
          if (model[i].is_changed()) states[key] = model[i].bytes();
        }
      }
      for (std::size_t i = 0; i < keys; ++i) {
        const std::string kept = server.command({"GET", redis_key("hg:", laws[i], names[i])});
        ASSERT_EQ(kept == "(nil)" ? "" : kept, states[i])
            << "history " << history << ", step " << step << ", key " << i;
      }
    }
  }
}

TEST(Together, AKeyThatIsNoneOfOursIsReplacedAndHurtsNoOtherBundle) {
  const RedisServer server;
  const auto store = open(server, Clock::redis);
  const limit::Law law =
      limit::make_law({5, 3600 * second}, {.algorithm = Algorithm::fixed_window}).value();
  server.command({"LPUSH", redis_key("hg:", law, "\1b"), "no limit"});
  server.command({"SET", redis_key("hg:", law, "\1c"), "no limit"});
  for (const Taken& taken :
       take_together(*store, {{{&law, "\1a"}, {&law, "\1b"}},
                              {{&law, "\1a"}, {&law, "\1c"}},
                              {{&law, "\1a"}, {&law, "\1b"}, {&law, "\1c"}}})) {
    ASSERT_FALSE(taken.undecided) << store->status().fault;
    EXPECT_TRUE(taken.admitted);
  }
  EXPECT_EQ(take(*store, {{&law, "\1a", 0}}).decisions[0].remaining, 2u);
  EXPECT_EQ(take(*store, {{&law, "\1b", 0}}).decisions[0].remaining, 3u);
  EXPECT_EQ(take(*store, {{&law, "\1c", 0}}).decisions[0].remaining, 3u);
}

// Another process takes the linear units between the read and the write: what was foreseen of the
// first bundles is wrong, and those behind them are decided once more.
TEST(Together, AVerdictThatWasNotForeseenChangesNoOther) {
  const RedisServer server;
  const auto store = open(server, Clock::redis);
  const auto other = open(server, Clock::redis);
  const limit::Law own = limit::make_law({200, 3600 * second}, {}).value();
  const limit::Law all =
      limit::make_law({400, 3600 * second}, {.algorithm = Algorithm::fixed_window}).value();
  std::vector<std::vector<store::Charge>> bundles(20, {{&own, "\1own"}, {&all, "\1all"}});
  const std::vector<std::vector<store::Charge>> alone(20, {{&own, "\1own"}});
  int admitted = 0;
  int beside = 0;
  for (int round = 0; round < 20; ++round) {
    std::vector<Taken> others;
    for (const Taken& taken : take_together(*store, bundles, std::nullopt, false,
                                            [&] { others = take_together(*other, alone); })) {
      ASSERT_FALSE(taken.undecided) << store->status().fault;
      admitted += taken.admitted ? 1 : 0;
    }
    for (const Taken& taken : others) beside += taken.admitted ? 1 : 0;
  }
  EXPECT_EQ(admitted + beside, 200);
  EXPECT_EQ(take(*store, {{&all, "\1all", 0}}).decisions[0].remaining,
            400u - static_cast<std::uint64_t>(admitted));
}

// The script gets a whole log for each of them. Redis reads no larger calls here.
TEST(Together, LargeLogsBesideALinearQuotaAreSentInSmallCalls) {
  const RedisServer server({"--client-query-buffer-limit", "1mb"});
  const auto store = open(server, Clock::redis);
  const limit::Law own = limit::make_law({100'000, 3600 * second}, {}).value();
  const limit::Law all =
      limit::make_law({100'000, 3600 * second}, {.algorithm = Algorithm::moving_window}).value();
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  std::vector<limit::Record> records(4096);
  for (std::size_t i = 0; i < records.size(); ++i) {
    records[i] = {std::chrono::nanoseconds(now).count() - 10'000 + static_cast<std::int64_t>(i), 1};
  }
  const std::string_view log(reinterpret_cast<const char*>(records.data()),
                             records.size() * sizeof(limit::Record));
  server.command({"SET", redis_key("hg:", all, "\1all"), log});
  const std::vector<std::vector<store::Charge>> bundles(200, {{&own, "\1own"}, {&all, "\1all"}});
  for (const Taken& taken : take_together(*store, bundles)) {
    ASSERT_FALSE(taken.undecided) << store->status().fault;
    EXPECT_TRUE(taken.admitted);
  }
  EXPECT_LT(take(*store, {{&own, "\1own", 0}}).decisions[0].remaining, 100'000u);
  EXPECT_EQ(take(*store, {{&all, "\1all", 0}}).decisions[0].remaining, 100'000u - 4096u - 200u);
}

// What a store gives back because another one denies, it gives back once.
TEST(Together, ARefundForWhichNobodyWaitsAnyMoreIsMade) {
  const RedisServer server;
  const auto store = open(server, Clock::redis, std::chrono::milliseconds(50));
  const limit::Law law =
      limit::make_law({10, 3600 * second}, {.algorithm = Algorithm::fixed_window}).value();
  Taken taken;
  do {
    taken = take(*store, {{&law, "\1a", 6}});
  } while (taken.undecided);
  server.stop();
  const auto give_back = [&](std::uint64_t cost, Instant since) {
    store::Charge charge{&law, "\1a", cost, Op::refund};
    charge.since = since;
    EXPECT_TRUE(take(*store, {charge}).undecided);
  };
  // The first is under way when Redis stops; Redis is known to be late when the second comes.
  give_back(2, *taken.now);
  give_back(1, *taken.now);
  // By name: this machine gives back what it has counted alone, and Redis nothing.
  give_back(3, {});
  server.go_on();
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  Taken seen;
  do {
    seen = take(*store, {{&law, "\1a", 0}});
  } while ((seen.undecided || seen.decisions[0].remaining < 7) &&
           std::chrono::steady_clock::now() < end);
  ASSERT_FALSE(seen.undecided);
  EXPECT_EQ(seen.decisions[0].remaining, 7u);
}

TEST(Together, AServerThatHangsIsTheReasonAlsoForThoseWhoWaitForOthers) {
  const RedisServer server;
  const auto store = open(server, Clock::redis, std::chrono::milliseconds(50));
  const limit::Law law =
      limit::make_law({10, 3600 * second}, {.algorithm = Algorithm::fixed_window}).value();
  while (take(*store, {{&law, "\1a", 1}}).undecided) {
  }
  server.stop();
  for (const Taken& taken : take_together(*store, {{{&law, "\1a"}}, {{&law, "\1a"}}})) {
    EXPECT_TRUE(taken.undecided);
  }
  EXPECT_EQ(store->status().fault, "Redis did not answer in time");
  server.go_on();
}

}  // namespace
}  // namespace headgate::redis
