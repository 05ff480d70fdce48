// Leases of several processes at one real Redis.

#include "headgate/redis/lease/leasing.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "headgate/redis/redis_store.h"
#include "headgate/redis/testing/blocking.h"
#include "headgate/redis/testing/redis_cluster.h"
#include "headgate/redis/testing/redis_server.h"
#include "headgate/store/mailbox.h"

namespace headgate::redis {
namespace {

using limit::Algorithm;
using limit::Op;
using std::chrono::duration;
using std::chrono::milliseconds;
using store::Charge;
using Seconds = duration<double>;

constexpr Nanos second = nanos_per_second;

struct Policy {
  explicit Policy(std::uint64_t quota, Nanos window, Algorithm algorithm = Algorithm::linear)
      : law(limit::make_law({quota, window}, {.algorithm = algorithm}).value()) {
    shared.outage_law = law;
    shared.denials_last = true;
    shared.leased = limit::leasable(law);
  }
  [[nodiscard]] Charge charge(std::uint64_t cost = 1, Op op = Op::spend) const {
    Charge charge{&law, "\1k", cost, op};
    charge.shared = &shared;
    return charge;
  }

  limit::Law law;
  limit::Shared shared;
};

std::unique_ptr<RedisStore> open(const RedisServer& server, RedisCounts* counts = nullptr,
                                 milliseconds timeout = std::chrono::seconds(60)) {
  Options options;
  options.nodes = {server.address()};
  options.timeout = timeout;
  options.counts = counts;
  return RedisStore::open(options).value();
}

// Commands that clients have sent, apart from those that open connections.
std::uint64_t calls(const RedisServer& server) {
  const std::string stats = server.command({"INFO", "commandstats"});
  std::uint64_t calls = 0;
  for (const std::string name : {"evalsha", "eval", "mget"}) {
    const std::string begin = "cmdstat_" + name + ":calls=";
    const std::size_t at = stats.find(begin);
    if (at != std::string::npos) calls += std::stoull(stats.substr(at + begin.size()));
  }
  return calls;
}

std::uint64_t admitted(RedisStore& store, const Policy& policy, int requests) {
  std::uint64_t admitted = 0;
  for (int i = 0; i < requests; ++i) admitted += take(store, {policy.charge()}).admitted ? 1 : 0;
  return admitted;
}

// As a process sees it that holds nothing.
std::uint64_t left(const RedisServer& server, const Policy& policy) {
  return take(*open(server), {policy.charge(0)}).decisions[0].remaining;
}

TEST(Leasing, OneProcessMayTakeAllThatRedisGives) {
  const RedisServer server;
  const auto store = open(server);
  // Of a linear quota a tenth is kept back, because it may be out.
  EXPECT_EQ(admitted(*store, Policy(1000, 30 * 86400 * second), 2000), 900U);
  EXPECT_EQ(admitted(*store, Policy(1000, 30 * 86400 * second, Algorithm::fixed_window), 2000),
            1000U);
}

TEST(Leasing, ProcessesTogetherTakeOneQuota) {
  const RedisServer server;
  const std::unique_ptr<RedisStore> stores[] = {open(server), open(server), open(server)};
  for (const Algorithm algorithm : {Algorithm::linear, Algorithm::fixed_window}) {
    const Policy policy(1000, 30 * 86400 * second, algorithm);
    std::uint64_t sum = 0;
    for (int i = 0; i < 200; ++i) {
      for (const auto& store : stores) sum += admitted(*store, policy, 10);
    }
    const std::uint64_t most = algorithm == Algorithm::linear ? 900 : 1000;
    EXPECT_LE(sum, most);
    EXPECT_GE(sum, most - 100) << "no more than what is out is not used";
  }
}

// As the workers of an nginx, whose master has opened the store.
TEST(Leasing, ProcessesThatWereForkedTakeUnitsEachForItself) {
  const RedisServer server;
  const auto store = open(server);
  const Policy policy(1000, 30 * 86400 * second);
  for (int i = 0; i < 3; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) _exit(static_cast<int>(admitted(*store, policy, 20)));
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 20) << "Redis has taken it for another one";
  }
}

TEST(Leasing, ACostLargerThanALumpIsDecidedByRedis) {
  const RedisServer server;
  const auto store = open(server);
  const Policy policy(100, 30 * 86400 * second);
  EXPECT_TRUE(take(*store, {policy.charge(60)}).admitted);
  const Taken denied = take(*store, {policy.charge(40)});
  EXPECT_FALSE(denied.admitted);
  EXPECT_TRUE(take(*store, {policy.charge(30)}).admitted);
  EXPECT_FALSE(take(*store, {policy.charge(1)}).admitted);
  EXPECT_EQ(take(*store, {policy.charge(91)}).decisions[0].wait, limit::Decision::never);
}

TEST(Leasing, ARefundIsThereForAll) {
  const RedisServer server;
  const auto one = open(server);
  const auto other = open(server);
  for (const Algorithm algorithm : {Algorithm::linear, Algorithm::fixed_window}) {
    const Policy policy(100, 30 * 86400 * second, algorithm);
    const std::uint64_t all = algorithm == Algorithm::linear ? 90 : 100;
    EXPECT_TRUE(take(*one, {policy.charge(all)}).admitted);
    EXPECT_TRUE(take(*one, {policy.charge(10, Op::refund)}).admitted);
    EXPECT_EQ(take(*other, {policy.charge(0, Op::peek)}).decisions[0].remaining, 10U);
  }
}

TEST(Leasing, WhatFollowsARefundInItsCallSeesIt) {
  const RedisServer server;
  const auto store = open(server);
  const Policy policy(40, 30 * 86400 * second, Algorithm::fixed_window);
  const std::vector<std::vector<Charge>> bundles{
      {policy.charge(limit::Quota::cost_max, Op::refund)},
      {policy.charge(0, Op::peek)},
      {policy.charge(40, Op::peek)},
      {policy.charge(40)}};
  EXPECT_EQ(admitted(*store, policy, 60), 40U);
  const std::vector<Taken> taken = take_together(*store, bundles);
  EXPECT_EQ(taken[1].decisions[0].remaining, 40U);
  for (const Taken& each : taken) EXPECT_TRUE(each.admitted);
}

TEST(Leasing, ALargerQuotaIsThereAtOnce) {
  const RedisServer server;
  const auto store = open(server);
  const Policy former(40, 30 * 86400 * second, Algorithm::fixed_window);
  const Policy larger(100, 30 * 86400 * second, Algorithm::fixed_window);
  EXPECT_EQ(admitted(*store, former, 60), 40U);
  EXPECT_EQ(admitted(*store, larger, 100), 60U);
}

// ---- two laws of one key, as while machines read a new policy file one after the other

// The share of a window that `units` of the policy's quota are.
double share(const Policy& policy, std::uint64_t units) {
  return static_cast<double>(units) /
         static_cast<double>(limit::parameters_of(policy.law).quota.units);
}

// Sends so many requests under the one law and under the other one, 30 times. Returns the shares
// that were admitted.
double spent_alternately(RedisStore& store, const Policy& one, int requests, const Policy& other,
                         int others) {
  double spent = 0;
  for (int i = 0; i < 30; ++i) {
    spent += share(one, admitted(store, one, requests));
    spent += share(other, admitted(store, other, others));
  }
  return spent;
}

TEST(Leasing, UnitsThatWereTakenUnderOneLawAreNotGivenBackAsThoseOfAnother) {
  const RedisServer server;
  const auto store = open(server);
  const Policy large(1000, 86400 * second);
  const Policy small(30, 86400 * second);
  EXPECT_LE(spent_alternately(*store, large, 100, small, 1), 1);
}

TEST(Leasing, UnderALawThatGivesLessAtOnceNothingOfALargerOneIsForgotten) {
  const RedisServer server;
  const auto store = open(server);
  const Policy large(1000, 86400 * second);  // of which it gives 900 / 1000 at once
  const Policy small(29, 86400 * second);    // 27 / 29
  EXPECT_LE(spent_alternately(*store, small, 10, large, 1), 1);
}

TEST(Leasing, RequestsThatWaitTogetherAreDecidedEachUnderItsLaw) {
  const RedisServer server;
  const auto store = open(server);
  const Policy large(1000, 86400 * second, Algorithm::fixed_window);
  const Policy small(50, 86400 * second, Algorithm::fixed_window);
  EXPECT_EQ(admitted(*store, large, 60), 60U);
  std::vector<std::vector<Charge>> bundles(3, {large.charge(200)});
  for (int i = 0; i < 20; ++i) bundles.push_back({small.charge()});
  const std::vector<Taken> taken = take_together(*store, bundles);
  for (std::size_t i = 0; i < taken.size(); ++i) {
    EXPECT_EQ(taken[i].admitted, i < 3) << i;
    EXPECT_FALSE(taken[i].undecided);
  }
}

// A refund of more than was used, as of units that were used in an earlier window: what a process
// holds still passes.
TEST(Leasing, ARefundGivesBackNothingThatIsOut) {
  const RedisServer server;
  const std::unique_ptr<RedisStore> stores[] = {open(server), open(server)};
  const Policy policy(100, 30 * 86400 * second, Algorithm::fixed_window);
  EXPECT_EQ(admitted(*stores[0], policy, 20), 20U);
  EXPECT_TRUE(take(*stores[1], {policy.charge(60, Op::refund)}).admitted);
  const std::uint64_t after = admitted(*stores[1], policy, 200) + admitted(*stores[0], policy, 200);
  EXPECT_LE(after, 100U);
  EXPECT_GE(after, 90U) << "no more than what is out is not used";
}

TEST(Leasing, IdleUnitsComeBack) {
  const RedisServer server;
  const auto one = open(server);
  const auto other = open(server);
  const Policy policy(1000, 30 * 86400 * second);
  const std::uint64_t spent = admitted(*one, policy, 100);
  EXPECT_EQ(spent, 100U);
  const auto left = [&] {
    return take(*other, {policy.charge(0, Op::peek)}).decisions[0].remaining;
  };
  while (left() < 800) {
  }
  EXPECT_EQ(left(), 800U);
}

// ---- the end of a store

// Calls `run(server)`, each time with a new server, until a call is so short that nothing was idle
// and no lease has ended meanwhile. Returns the last server.
template <class Run>
std::unique_ptr<RedisServer> run_quickly(const Run& run) {
  std::unique_ptr<RedisServer> server;
  EXPECT_TRUE(soon([&] {
    server = std::make_unique<RedisServer>();
    const auto begin = BootClock::now();
    run(*server);
    return BootClock::now() - begin < Lease::idle_after;
  }));
  return server;
}

TEST(Leasing, AStoreThatEndsGivesBackWhatItHolds) {
  for (const Algorithm algorithm : {Algorithm::linear, Algorithm::fixed_window}) {
    const Policy policy(1000, 30 * 86400 * second, algorithm);
    const std::uint64_t all = algorithm == Algorithm::linear ? 900 : 1000;
    std::uint64_t spent = 0;
    const auto server = run_quickly([&](const RedisServer& redis) {
      spent = 0;
      for (int i = 0; i < 3; ++i) spent += admitted(*open(redis), policy, 50);
    });
    EXPECT_EQ(left(*server, policy), all - spent);
  }
}

TEST(Leasing, AStoreThatEndsGivesBackWhatItIsAskingFor) {
  const Policy policy(1000, 30 * 86400 * second, Algorithm::fixed_window);
  std::uint64_t spent = 0;
  const auto server = run_quickly([&](const RedisServer& redis) {
    auto store = open(redis);
    spent = admitted(*store, policy, 100);
    redis.stop();
    const std::vector<Charge> charges{policy.charge()};
    limit::Decision decision;
    store::Bundle bundle{charges, {&decision, 1}};
    while (store->take_at_once(bundle)) ++spent;
    std::thread ends([&] { store.reset(); });
    redis.go_on();
    ends.join();
  });
  EXPECT_EQ(left(*server, policy), 1000 - spent);
}

TEST(Leasing, AStoreThatEndsGivesBackHundredsOfLeases) {
  const Policy policy(100, 30 * 86400 * second, Algorithm::fixed_window);
  std::vector<std::string> keys;
  for (int i = 0; i < 200; ++i) keys.push_back("\1" + std::to_string(i));
  const auto take_each = [&](RedisStore& store, std::uint64_t cost) {
    std::vector<std::vector<Charge>> bundles;
    for (const std::string& key : keys) {
      bundles.push_back({policy.charge(cost)});
      bundles.back()[0].key = key;
    }
    return take_together(store, bundles);
  };
  const auto server = run_quickly([&](const RedisServer& redis) {
    const auto store = open(redis);
    for (int i = 0; i < 2; ++i) take_each(*store, 1);
  });
  for (const Taken& peek : take_each(*open(*server), 0)) {
    ASSERT_EQ(peek.decisions[0].remaining, 98U);
  }
}

TEST(Leasing, AStoreEndsAlsoIfRedisStandsStill) {
  const RedisServer server;
  auto store = open(server, nullptr, milliseconds(50));
  admitted(*store, Policy(1000, 30 * 86400 * second), 100);
  server.stop();
  store.reset();
  server.go_on();
}

// A client that stays with one process and sends what the fields promise is never denied.
TEST(Leasing, TheFieldsAreSoundForAClientOfOneProcess) {
  const RedisServer server;
  const auto store = open(server);
  for (const Algorithm algorithm : {Algorithm::linear, Algorithm::fixed_window}) {
    const Policy policy(200, 36'000 * second, algorithm);
    std::uint64_t promised = take(*store, {policy.charge(0, Op::peek)}).decisions[0].remaining;
    EXPECT_GE(promised, 180U);
    while (promised > 0) {
      const Taken taken = take(*store, {policy.charge()});
      ASSERT_TRUE(taken.admitted) << promised;
      ASSERT_GE(taken.decisions[0].remaining, promised - 1);
      promised = taken.decisions[0].remaining;
    }
    const Taken denied = take(*store, {policy.charge()});
    EXPECT_FALSE(denied.admitted);
    EXPECT_GE(denied.decisions[0].wait, second);
  }
}

// About two asks per 100 ms, in which a lump gathers.
TEST(Leasing, AKeyThatIsDeniedCostsABoundedRateOfCommands) {
  const RedisServer server;
  const auto store = open(server);
  const Policy policy(1000, second);
  ASSERT_EQ(admitted(*store, policy, 900), 900U);
  const std::uint64_t before = calls(server);
  const auto begin = BootClock::now();
  std::uint64_t requests = 0;
  while (requests < 10'000 || BootClock::now() - begin < milliseconds(1500)) {
    admitted(*store, policy, 1);
    ++requests;
  }
  const double seconds = Seconds(BootClock::now() - begin).count();
  EXPECT_LE(static_cast<double>(calls(server) - before), 40 * (seconds + 1));
}

// ---- all or none

TEST(Leasing, ABundleWithExactAndLeasedChargesIsTakenAllOrNone) {
  const RedisServer server;
  const auto store = open(server);
  const Policy leased(100, 30 * 86400 * second);
  const limit::Law exact_law = limit::make_law({20, 30 * 86400 * second}, {}).value();
  const Charge exact{&exact_law, "\1e", 1};
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(take(*store, {exact, leased.charge()}).admitted);
  const Taken denied = take(*store, {leased.charge(), exact});
  EXPECT_FALSE(denied.admitted);
  EXPECT_TRUE(denied.decisions[0].admitted);
  EXPECT_FALSE(denied.decisions[1].admitted);
  EXPECT_EQ(admitted(*store, leased, 200), 70U) << "nothing of it was taken";

  const limit::Law large_law = limit::make_law({50, 30 * 86400 * second}, {}).value();
  const Charge large{&large_law, "\1l", 1};
  const Taken other = take(*store, {large, leased.charge()});
  EXPECT_FALSE(other.admitted);
  EXPECT_EQ(take(*store, {{&large_law, "\1l", 0}}).decisions[0].remaining, 50U);
}

TEST(Leasing, WithoutRedisItIsUndecidedWhenTheLeaseIsUsedUp) {
  RedisServer server;
  const auto store = open(server);
  const Policy policy(1000, 30 * 86400 * second);
  EXPECT_EQ(admitted(*store, policy, 50), 50U);
  server.kill();
  int more = 0;
  Taken taken;
  while (!taken.undecided) {
    taken = take(*store, {policy.charge()});
    more += taken.admitted ? 1 : 0;
    ASSERT_LE(more, 100);
  }
  server.start();
  while (take(*store, {policy.charge(0, Op::peek)}).undecided) {
  }
  EXPECT_TRUE(take(*store, {policy.charge()}).admitted);
}

// As of a policy file that a reload drops, or of a look that is over.
TEST(Leasing, ALateAnswerReadsNoLawOfACallThatIsOver) {
  const RedisServer server;
  const auto store = open(server, nullptr, milliseconds(50));
  const Policy policy(1000, 3600 * second);
  const auto peek = [&](const Policy& of, std::string_view key) {
    Charge charge = of.charge(0, Op::peek);
    charge.key = key;
    return take(*store, {charge});
  };
  ASSERT_TRUE(soon([&] { return !peek(policy, "\1a").undecided; }));
  server.stop();
  {
    const auto brief = std::make_unique<Policy>(1000, 3600 * second);
    EXPECT_TRUE(peek(*brief, "\1b").undecided);
  }
  server.go_on();
  EXPECT_TRUE(soon([&] { return !peek(policy, "\1c").undecided; }));
}

// Redis stands still for less than a second, as while it forks. A machine that is busy for longer
// gets another try.
TEST(Leasing, ARefundWaitsForARedisThatStandsStillAndNoRequestWaitsBehindIt) {
  const RedisServer server;
  RedisCounts counts;
  const auto store = open(server, &counts, milliseconds(50));
  const Policy policy(100, 30 * 86400 * second, Algorithm::fixed_window);
  std::string key = "\1k";
  EXPECT_TRUE(soon([&] {
    key += "'";
    const auto charge = [&](std::uint64_t cost, Op op = Op::spend) {
      Charge its = policy.charge(cost, op);
      its.key = key;
      return its;
    };
    if (!take(*store, {charge(90)}).admitted) return false;
    server.stop();
    while (store->status().up) take(*store, {charge(90)});
    const auto refunded = take_together(*store, {{charge(90, Op::refund)}}, {}, true, [&] {
      const auto before = counts.timeouts.load();
      EXPECT_TRUE(take(*store, {charge(90)}).undecided);
      EXPECT_EQ(counts.timeouts, before);
      server.go_on();
    });
    return !refunded[0].undecided &&
           take(*store, {charge(0, Op::peek)}).decisions[0].remaining == 100;
  }));
}

// ---- load

// What a run of several processes did.
struct Figures {
  double used = 0;      // of what the quota's rate allows, after its burst is gone
  double over = 0;      // units beyond the promise
  double commands = 0;  // of Redis per decision
};

struct Scene {
  std::uint64_t quota;  // units per second
  std::size_t processes;
  double offered;  // requests per second
  Seconds warm_up;
  Seconds lasts;
  std::function<double(std::size_t process, double time)> weight = [](std::size_t, double) {
    return 1.0;
  };
};

// The units by which admissions at these times exceed the promise: the quota at once, and its rate.
double over(std::uint64_t quota, std::vector<double> admissions) {
  std::sort(admissions.begin(), admissions.end());
  double most = 0;
  double level = 0;
  double last = 0;
  for (const double at : admissions) {
    level = std::max(0.0, level - (at - last) * static_cast<double>(quota)) + 1;
    last = at;
    most = std::max(most, level - static_cast<double>(quota));
  }
  return most;
}

Figures run(const Scene& scene) {
  const RedisServer server;
  const Policy policy(scene.quota, second);
  const std::vector<Charge> charges{policy.charge()};
  store::Mailbox home;
  std::vector<std::unique_ptr<RedisStore>> stores;
  for (std::size_t i = 0; i < scene.processes; ++i) stores.push_back(open(server));

  struct Request {
    limit::Decision decision;
    store::Bundle bundle;
    std::optional<Instant> now;
    BootClock::time_point decided;
    bool is_done = false;
  };
  std::deque<std::unique_ptr<Request>> waiting;
  Figures figures;
  std::vector<double> admissions;  // their times [s]
  std::uint64_t decisions = 0;
  std::uint64_t admitted = 0;
  std::uint64_t calls_before = 0;
  const auto begin = BootClock::now();
  const auto seconds = [&](BootClock::time_point time) { return Seconds(time - begin).count(); };
  const auto count = [&](const Request& request) {
    const double at = seconds(request.decided);
    if (at >= scene.warm_up.count()) ++decisions;
    if (!request.bundle.admitted) return;
    if (at >= scene.warm_up.count()) ++admitted;
    admissions.push_back(at);
  };

  std::mt19937 random(1);
  std::exponential_distribution<double> gap(scene.offered);
  double next = 0;
  bool is_warm = false;
  const double end = (scene.warm_up + scene.lasts).count();
  while (next < end) {
    const double time = seconds(BootClock::now());
    if (!is_warm && time >= scene.warm_up.count()) {
      is_warm = true;
      calls_before = calls(server);
    }
    // A machine that is busy falls behind. Answers are taken between parts of what is late, because
    // they get their time then.
    for (int burst = 0; burst < 50 && next <= time && next < end; ++burst) {
      std::vector<double> weights;
      for (std::size_t i = 0; i < stores.size(); ++i) weights.push_back(scene.weight(i, next));
      std::discrete_distribution<std::size_t> pick(weights.begin(), weights.end());
      auto request = std::make_unique<Request>();
      request->bundle = {charges, {&request->decision, 1}};
      stores[pick(random)]->take({&request->bundle, 1}, request->now,
                                 {[](void* of) noexcept {
                                    auto& done = *static_cast<Request*>(of);
                                    done.decided = BootClock::now();
                                    done.is_done = true;
                                  },
                                  request.get(), &home});
      waiting.push_back(std::move(request));
      next += gap(random);
    }
    pollfd answers{home.fd(), POLLIN, 0};
    if (poll(&answers, 1, next <= time ? 0 : 1) == 1) home.deliver();
    // In the order of their beginnings; those that wait are few.
    while (!waiting.empty() && waiting.front()->is_done) {
      EXPECT_FALSE(waiting.front()->bundle.undecided);
      count(*waiting.front());
      waiting.pop_front();
    }
  }
  figures.over = over(scene.quota, std::move(admissions));
  figures.commands =
      static_cast<double>(calls(server) - calls_before) / static_cast<double>(decisions);
  const double possible = std::min(static_cast<double>(scene.quota) * scene.lasts.count(),
                                   static_cast<double>(decisions));
  figures.used = static_cast<double>(admitted) / possible;
  stores.clear();
  home.deliver();
  std::cout << "used " << figures.used << ", over " << figures.over << ", commands per decision "
            << figures.commands << '\n';
  return figures;
}

TEST(Leasing, TwoProcessesAdmitWhatWasPromisedAndNoMore) {
  const Figures figures = run({500, 2, 800, Seconds(2), Seconds(3)});
  EXPECT_LE(figures.over, 0);
  EXPECT_GE(figures.used, 485.0 / 500);
}

TEST(Leasing, EightProcessesEven) {
  const Figures figures = run({10'000, 8, 16'000, Seconds(2), Seconds(3)});
  EXPECT_LE(figures.over, 0);
  EXPECT_GE(figures.used, 0.97);
  EXPECT_LE(figures.commands, 0.02);
}

TEST(Leasing, EightProcessesSkewed) {
  const Figures figures =
      run({10'000, 8, 16'000, Seconds(2), Seconds(3),
           [](std::size_t i, double) { return 1 / std::pow(static_cast<double>(i + 1), 1.2); }});
  EXPECT_LE(figures.over, 0);
  EXPECT_GE(figures.used, 0.97);
  EXPECT_LE(figures.commands, 0.02);
}

TEST(Leasing, EightProcessesWithLoadThatWanders) {
  const Figures figures =
      run({10'000, 8, 16'000, Seconds(2), Seconds(3), [](std::size_t i, double time) {
             return static_cast<std::size_t>(time * 2) % 8 == i ? 20.0 : 1.0;
           }});
  EXPECT_LE(figures.over, 0);
  EXPECT_GE(figures.used, 0.97);
  EXPECT_LE(figures.commands, 0.02);
}

TEST(Leasing, EightProcessesBelowTheLimit) {
  const Figures figures = run({10'000, 8, 5'000, Seconds(2), Seconds(3)});
  EXPECT_EQ(figures.used, 1) << "nothing is denied";
  EXPECT_LE(figures.commands, 0.01);
}

}  // namespace
}  // namespace headgate::redis
