// What the store promises beyond the suite that every store passes: Redis' clock, expiry, many
// callers, and a Redis that is away.

#include "headgate/redis/redis_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "headgate/base/testing/temporary_directory.h"
#include "headgate/redis/testing/blocking.h"
#include "headgate/redis/testing/free_port.h"
#include "headgate/redis/testing/redis_server.h"
#include "headgate/store/mailbox.h"

namespace headgate::redis {
namespace {

using limit::Algorithm;
using limit::Op;
using store::Charge;
using testing::HasSubstr;
using Steady = std::chrono::steady_clock;

constexpr Nanos second = nanos_per_second;
constexpr std::chrono::seconds patience{60};

limit::Law law(std::uint64_t quota, Nanos window, Algorithm algorithm = Algorithm::linear) {
  return limit::make_law({quota, window}, {.algorithm = algorithm}).value();
}

const limit::Law linear = law(10, 3600 * second);
const limit::Law fixed = law(10, 3600 * second, Algorithm::fixed_window);
const limit::Law moving = law(10, 3600 * second, Algorithm::moving_window);
const limit::Law slots = law(10, second, Algorithm::concurrency);

std::unique_ptr<RedisStore> open(const RedisServer& server,
                                 std::chrono::milliseconds timeout = patience) {
  Options options;
  options.nodes = {server.address()};
  options.timeout = timeout;
  return RedisStore::open(options).value();
}

std::int64_t number(const std::string& text) {
  std::int64_t value = -1;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// Until `holds`, which waits by itself.
template <class Holds>
bool soon(const Holds& holds) {
  const auto end = Steady::now() + patience;
  while (Steady::now() < end) {
    if (holds()) return true;
  }
  return false;
}

TEST(RedisStore, SaysWhatIsWrongWithItsOptions) {
  EXPECT_EQ(RedisStore::open({}).error(), "no Redis server is named");
  Options two;
  two.nodes = {ServerAddress{"a", "1"}, ServerAddress{"b", "1"}};
  EXPECT_THAT(RedisStore::open(two).error(), HasSubstr("expected one, or a cluster"));
  two.cluster = true;
  two.sentinel = "main";
  EXPECT_THAT(RedisStore::open(two).error(), HasSubstr("a cluster has no sentinels"));
  Options hasty;
  hasty.nodes = {ServerAddress{"a", "1"}};
  hasty.timeout = std::chrono::milliseconds(0);
  EXPECT_THAT(RedisStore::open(hasty).error(), HasSubstr("not positive"));
}

TEST(RedisStore, DecidesByRedisClockWhateverTheCallerSays) {
  const RedisServer server;
  const auto store = open(server);
  EXPECT_TRUE(take(*store, {{&linear, "\1a", 10}, {&fixed, "\1b", 10}}).admitted);
  const Instant next_year{store->now().ns + 365 * 86400 * second};
  EXPECT_FALSE(take(*store, {{&linear, "\1a", 1}}, next_year).admitted);
  EXPECT_FALSE(take(*store, {{&fixed, "\1b", 1}}, next_year).admitted);
}

TEST(RedisStore, StoresOfOneRedisShareTheirLimits) {
  const RedisServer server;
  const auto one = open(server);
  const auto other = open(server);
  for (const limit::Law* the_law : {&linear, &fixed, &moving, &slots}) {
    const std::string key = "\1k" + std::to_string(the_law->index());
    EXPECT_TRUE(take(*one, {{the_law, key, 6}}).admitted);
    EXPECT_FALSE(take(*other, {{the_law, key, 6}}).admitted);
    EXPECT_EQ(take(*other, {{the_law, key, 4}}).decisions[0].remaining, 0u);
  }
}

TEST(RedisStore, EveryKeyExpires) {
  const RedisServer server;
  const auto store = open(server);
  const limit::Law week = law(7, 7 * 86400 * second);
  const limit::Law exponential = law(10, 3600 * second, Algorithm::exponential);
  const limit::Law counter = law(10, 3600 * second, Algorithm::sliding_window_counter);
  struct Case {
    const limit::Law* law;
    const char* key;
    std::int64_t least;  // [ms]
    std::int64_t most;
  };
  for (const Case& one : {Case{&linear, "hg:\1a{}", 360'000, 361'002},
                          Case{&week, "hg:\1a{}", 86'400'000, 86'401'002},
                          Case{&exponential, "hg:D\1a{}", 1, 40 * 3'600'000},
                          Case{&fixed, "hg:E\1a{}", 3'600'000, 3'601'002},
                          Case{&counter, "hg:F\1a{}", 7'200'000, 7'201'002},
                          Case{&moving, "hg:G\1a{}", 3'600'000, 3'601'002},
                          Case{&slots, "hg:H\1a{}", 60'000, 61'002}}) {
    server.command({"FLUSHALL"});
    EXPECT_TRUE(take(*store, {{one.law, "\1a", 1}}).admitted);
    const std::int64_t ttl = number(server.command({"PTTL", one.key}));
    EXPECT_LE(ttl, one.most) << one.key;
    EXPECT_GT(ttl, one.least - 60'000) << one.key << ": a minute may have passed";
    EXPECT_GT(ttl, 0) << one.key;
  }
}

TEST(RedisStore, ABundleOfAllLawsIsTakenAllOrNone) {
  const RedisServer server;
  const auto store = open(server);
  const std::vector<Charge> all{
      {&linear, "\1a\1x", 3}, {&fixed, "\1b\1x", 3}, {&moving, "\1c\1x", 3}, {&slots, "\1d\1x", 3}};
  EXPECT_TRUE(take(*store, all).admitted);
  // Each law in turn is the one that denies.
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::vector<Charge> charges = all;
    charges[i].cost = 8;
    const Taken denied = take(*store, charges);
    EXPECT_FALSE(denied.admitted);
    for (std::size_t j = 0; j < all.size(); ++j) {
      EXPECT_EQ(denied.decisions[j].admitted, i != j);
      EXPECT_EQ(denied.decisions[j].remaining, 7u) << i << " denied, " << j;
    }
  }
  const Taken last = take(*store, all);
  EXPECT_TRUE(last.admitted);
  for (const limit::Decision& decision : last.decisions) EXPECT_EQ(decision.remaining, 4u);
  // A law without a state denies the others, too.
  const limit::Law closed = law(0, second);
  EXPECT_FALSE(take(*store, {{&linear, "\1a\1x", 1}, {&closed, "\1e\1x", 1}}).admitted);
  EXPECT_FALSE(take(*store, {{&fixed, "\1b\1x", 1}, {&closed, "\1e\1x", 1}}).admitted);
  EXPECT_FALSE(take(*store, {{&closed, "\1e\1x", 1}}).admitted);
  EXPECT_EQ(take(*store, {{&linear, "\1a\1x", 0}}).decisions[0].remaining, 4u);
  EXPECT_EQ(take(*store, {{&fixed, "\1b\1x", 0}}).decisions[0].remaining, 4u);
}

TEST(RedisStore, ASlotIsReleased) {
  const RedisServer server;
  const auto store = open(server);
  const Taken first = take(*store, {{&slots, "\1a", 6}});
  EXPECT_TRUE(take(*store, {{&slots, "\1a", 4}}).admitted);
  Charge release{&slots, "\1a", 6, Op::refund};
  release.since = first.now.value();
  EXPECT_EQ(take(*store, {release}).decisions[0].remaining, 6u);
  EXPECT_EQ(take(*store, {{&slots, "\1a", 4, Op::refund}}).decisions[0].remaining, 10u);
  EXPECT_TRUE(take(*store, {{&slots, "\1a", 10}}).admitted) << "also from an empty log";
}

// All callers wait for the same answer; bucket4j's callers swap against each other there.
TEST(RedisStore, FourHundredCallersOfOneKeyTakeExactlyTheQuota) {
  const RedisServer server;
  const auto one = open(server);
  const auto other = open(server);
  constexpr std::size_t callers = 400;
  for (const Algorithm algorithm :
       {Algorithm::linear, Algorithm::fixed_window, Algorithm::moving_window}) {
    const limit::Law quota_of_300 = law(300, 86400 * second, algorithm);
    const std::vector<Charge> charges{{&quota_of_300, "\1k", 1}};
    std::vector<limit::Decision> decisions(callers);
    std::vector<store::Bundle> bundles;
    for (std::size_t i = 0; i < callers; ++i) bundles.push_back({charges, {&decisions[i], 1}});
    std::vector<std::optional<Instant>> times(callers);
    std::atomic<std::size_t> done{0};
    for (std::size_t i = 0; i < callers; ++i) {
      (i % 2 == 0 ? one : other)
          ->take({&bundles[i], 1}, times[i],
                 {[](void* count) noexcept {
                    static_cast<std::atomic<std::size_t>*>(count)->fetch_add(1);
                    static_cast<std::atomic<std::size_t>*>(count)->notify_all();
                  },
                  &done});
    }
    for (std::size_t seen = 0; seen < callers; seen = done) done.wait(seen);
    std::size_t admitted = 0;
    for (const store::Bundle& bundle : bundles) {
      EXPECT_FALSE(bundle.undecided);
      admitted += bundle.admitted ? 1 : 0;
    }
    EXPECT_EQ(admitted, 300u);
  }
}

// Bundles that have a key of their own beside one that is everybody's.
struct OwnAndShared {
  OwnAndShared(const limit::Law& shared, const limit::Law& own, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) keys.push_back("\1o" + std::to_string(i));
    for (const std::string& key : keys) bundles.push_back({{&shared, "\1s", 1}, {&own, key, 1}});
  }
  std::vector<std::string> keys;
  std::vector<std::vector<Charge>> bundles;
};

std::int64_t calls(const RedisServer& server, const std::string& command) {
  const std::string stats = server.command({"INFO", "commandstats"});
  const std::string name = "cmdstat_" + command + ":calls=";
  const std::size_t at = stats.find(name);
  return at == std::string::npos ? 0 : number(stats.substr(at + name.size()));
}

TEST(RedisStore, CallersOfOneKeyAreDecidedTogetherAlsoWithKeysOfTheirOwn) {
  const RedisServer server;
  const auto store = open(server);
  const limit::Law quota_of_150 = law(150, 86400 * second, Algorithm::fixed_window);
  const OwnAndShared all(quota_of_150, moving, 200);
  std::size_t admitted = 0;
  for (const Taken& taken : take_together(*store, all.bundles)) admitted += taken.admitted ? 1 : 0;
  EXPECT_EQ(admitted, 150u);
  EXPECT_LE(calls(server, "mget"), 12);
  for (std::size_t i = 0; i < all.keys.size(); i += 10) {
    const Taken left = take(*store, {{&moving, all.keys[i], 0}});
    EXPECT_EQ(left.decisions[0].remaining, i < 150 ? 9u : 10u) << i;
  }
}

// ---- threads and processes

// One call of take() of a caller with a mailbox.
struct Call {
  Call(RedisStore& store, store::Mailbox& home, const std::vector<Charge>& charges)
      : decisions(charges.size()), bundle{charges, decisions} {
    store.take({&bundle, 1}, now,
               {[](void* call) noexcept {
                  static_cast<Call*>(call)->answered_by = std::this_thread::get_id();
                },
                this, &home});
  }
  [[nodiscard]] bool is_answered() const { return answered_by != std::thread::id(); }

  std::vector<limit::Decision> decisions;
  store::Bundle bundle;
  std::optional<Instant> now;
  std::thread::id answered_by;
};

// Delivers letters until the call is answered.
void wait(store::Mailbox& home, const Call& call) {
  while (!call.is_answered()) {
    pollfd waits{home.fd(), POLLIN, 0};
    ASSERT_EQ(poll(&waits, 1, -1), 1);
    home.deliver();
  }
}

TEST(RedisStore, AnswersTheThreadThatAsked) {
  const RedisServer server;
  const auto store = open(server);
  std::atomic<std::uint64_t> admitted{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      store::Mailbox home;
      const std::vector<Charge> charges{{&linear, "\1a", 1}, {&fixed, "\1a", 1}};
      for (int j = 0; j < 50; ++j) {
        const Call call(*store, home, charges);
        wait(home, call);
        ASSERT_EQ(call.answered_by, std::this_thread::get_id());
        ASSERT_FALSE(call.bundle.undecided);
        if (call.bundle.admitted) ++admitted;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(admitted, 10u);
}

TEST(RedisStore, AnAnswerWaitsUntilItsMailboxIsEmptied) {
  const RedisServer server;
  auto store = open(server);
  store::Mailbox home;
  const std::vector<Charge> charges{{&linear, "\1a", 1}};
  const Call first(*store, home, charges);
  pollfd waits{home.fd(), POLLIN, 0};
  ASSERT_EQ(poll(&waits, 1, -1), 1);
  EXPECT_FALSE(first.is_answered());
  server.stop();
  const Call unanswered(*store, home, charges);
  store.reset();
  EXPECT_FALSE(unanswered.is_answered());
  home.deliver();
  EXPECT_TRUE(first.is_answered() && first.bundle.admitted);
  EXPECT_TRUE(unanswered.is_answered() && unanswered.bundle.undecided) << "the store was closed";
  server.go_on();
}

// As nginx's master does: threads do not survive a fork.
TEST(RedisStore, MayBeOpenedBeforeAFork) {
  const RedisServer server;
  const auto store = open(server);
  int admitted = 0;
  for (int i = 0; i < 3; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) _exit(take(*store, {{&linear, "\1a", 4}}).admitted ? 1 : 0);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    admitted += WEXITSTATUS(status);
  }
  EXPECT_EQ(admitted, 2);
  EXPECT_EQ(take(*store, {{&linear, "\1a", 0}}).decisions[0].remaining, 2u);
}

TEST(RedisStore, GoesOnWhenScriptsAreFlushed) {
  const RedisServer server;
  const auto store = open(server);
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(take(*store, {{&linear, "\1a", 1}, {&fixed, "\1a", 1}}).admitted);
    EXPECT_EQ(server.command({"SCRIPT", "FLUSH"}), "OK");
  }
  EXPECT_FALSE(take(*store, {{&linear, "\1a", 1}}).admitted);
}

// Also if the first address of the name is one at which no server listens, as ::1 often is.
TEST(RedisStore, ConnectsToAName) {
  const std::string port = std::to_string(free_port());
  const RedisServer server({"--port", port, "--bind", "127.0.0.1"});
  Options options;
  options.nodes = {ServerAddress{"localhost", port}};
  options.timeout = patience;
  EXPECT_TRUE(take(*RedisStore::open(options).value(), {{&linear, "\1a", 1}}).admitted);
}

// ---- outages

TEST(RedisStore, IsUndecidedInTimeIfRedisIsStopped) {
  const RedisServer server;
  const auto store = open(server, std::chrono::milliseconds(50));
  ASSERT_TRUE(soon([&] { return !take(*store, {{&linear, "\1a", 0}}).undecided; }));
  server.stop();
  for (const limit::Law* the_law : {&linear, &fixed}) {
    EXPECT_TRUE(take(*store, {{the_law, "\1a", 1}}).undecided);
  }
  EXPECT_TRUE(soon([&] { return !store->status().up; }));
  EXPECT_THAT(store->status().fault, HasSubstr("answer"));
  server.go_on();
  EXPECT_TRUE(soon([&] { return !take(*store, {{&linear, "\1a", 1}}).undecided; }));
}

// Each of them once cost a round trip, so that a key was dead long after a flood.
TEST(RedisStore, NothingIsAskedForThoseWhoseTimeIsOver) {
  const RedisServer server;
  const auto store = open(server, std::chrono::milliseconds(50));
  ASSERT_TRUE(soon([&] { return !take(*store, {{&fixed, "\1s", 0}}).undecided; }));
  const auto before = calls(server, "mget");
  server.stop();
  for (const Taken& taken : take_together(*store, OwnAndShared(fixed, moving, 500).bundles)) {
    EXPECT_TRUE(taken.undecided);
  }
  server.go_on();
  EXPECT_TRUE(soon([&] { return !take(*store, {{&fixed, "\1s", 1}}).undecided; }));
  EXPECT_LE(calls(server, "mget") - before, 10);
}

// For half a second, say, as while Redis forks. A machine that is busy for longer gets another try.
TEST(RedisStore, CorrectsWhatRequestsHaveTakenThoughRedisStandsStill) {
  const RedisServer server;
  const auto store = open(server, std::chrono::milliseconds(50));
  for (const limit::Law* the_law : {&linear, &fixed, &slots}) {
    std::string key = "\1k" + std::to_string(the_law->index());
    EXPECT_TRUE(soon([&] {
      key += "'";
      if (!take(*store, {{the_law, key, 2}}).admitted) return false;
      server.stop();
      while (store->status().up) take(*store, {{the_law, key, 1, Op::peek}});
      const std::vector<Taken> corrected = take_together(*store, {{{the_law, key, 2, Op::refund}}},
                                                         {}, true, [&] { server.go_on(); });
      return !corrected[0].undecided && corrected[0].decisions[0].remaining == 10;
    })) << key;
  }
}

TEST(RedisStore, NoRequestWaitsBehindACorrectionOfItsKey) {
  const RedisServer server;
  RedisCounts counts;
  Options options;
  options.nodes = {server.address()};
  options.counts = &counts;
  const auto store = RedisStore::open(options).value();
  ASSERT_TRUE(soon([&] { return take(*store, {{&slots, "\1a", 2}}).admitted; }));
  server.stop();
  while (store->status().up) take(*store, {{&linear, "\1b", 1}});
  take_together(*store, {{{&slots, "\1a", 2, Op::refund}}}, {}, true, [&] {
    const auto before = counts.timeouts.load();
    EXPECT_TRUE(take(*store, {{&slots, "\1a", 1}}).undecided);
    EXPECT_EQ(counts.timeouts, before);
    server.go_on();
  });
}

// An event loop asks for it.
TEST(RedisStore, SaysHowItIsWithoutWaitingForItsThread) {
  const RedisServer server;
  const auto store = open(server);
  EXPECT_TRUE(store->status().up) << "not tried yet";
  struct {
    std::atomic<bool> is_held{false};
    std::atomic<bool> may_go_on{false};
  } thread;
  std::optional<Instant> now;
  limit::Decision decision;
  const Charge charge{&linear, "\1a", 1};
  store::Bundle bundle{{&charge, 1}, {&decision, 1}};
  store->take({&bundle, 1}, now,
              {[](void* of) noexcept {
                 auto& held = *static_cast<decltype(thread)*>(of);
                 held.is_held = true;
                 held.is_held.notify_all();
                 held.may_go_on.wait(false);
               },
               &thread});
  thread.is_held.wait(false);
  std::future<RedisStatus> status = std::async(std::launch::async, [&] { return store->status(); });
  EXPECT_EQ(status.wait_for(patience), std::future_status::ready);
  thread.may_go_on = true;
  thread.may_go_on.notify_all();
  EXPECT_TRUE(status.get().up);
}

TEST(RedisStore, ConnectsAgainWhenRedisWasKilled) {
  RedisServer server;
  const auto store = open(server);
  ASSERT_FALSE(take(*store, {{&linear, "\1a", 1}}).undecided);
  server.kill();
  ASSERT_TRUE(soon([&] { return take(*store, {{&linear, "\1a", 1}}).undecided; }));
  EXPECT_THAT(store->status().fault, HasSubstr("unix:"));
  server.start();
  ASSERT_TRUE(soon([&] { return !take(*store, {{&fixed, "\1a", 1}}).undecided; }));
  EXPECT_EQ(take(*store, {{&linear, "\1a", 1}}).decisions[0].remaining, 9u)
      << "a Redis without persistence has forgotten";
}

// As a name or a virtual address that leads to the new primary after a failover, while the former
// one goes on as a replica and keeps its connections.
TEST(RedisStore, FollowsItsAddressIfThePrimaryHasBecomeAReplica) {
  const RedisServer former;
  const RedisServer next;
  const TemporaryDirectory directory;
  const std::string address = directory.file("primary");
  std::filesystem::create_symlink(former.address().port, address);
  Options options;
  options.nodes = {ServerAddress{"", address}};
  options.timeout = patience;
  const auto store = RedisStore::open(options).value();
  ASSERT_TRUE(take(*store, {{&linear, "\1a", 1}}).admitted);
  former.command({"REPLICAOF", "127.0.0.1", "1"});
  std::filesystem::remove(address);
  std::filesystem::create_symlink(next.address().port, address);
  EXPECT_TRUE(soon([&] { return take(*store, {{&linear, "\1a", 1}}).admitted; }));
}

TEST(RedisStore, MayBeOpenedBeforeRedis) {
  RedisServer server;
  server.kill();
  const auto store = open(server);
  EXPECT_TRUE(take(*store, {{&linear, "\1a", 1}}).undecided);
  server.start();
  EXPECT_TRUE(soon([&] { return take(*store, {{&linear, "\1a", 1}}).admitted; }));
}

TEST(RedisStore, IsUndecidedIfRedisCannotWrite) {
  const RedisServer server;
  const auto store = open(server);
  EXPECT_TRUE(take(*store, {{&linear, "\1a", 1}, {&fixed, "\1a", 1}}).admitted);
  server.command({"CONFIG", "SET", "maxmemory", "1"});
  for (const limit::Law* the_law : {&linear, &fixed}) {
    EXPECT_TRUE(take(*store, {{the_law, "\1a", 1}}).undecided);
    EXPECT_THAT(store->status().fault, HasSubstr("OOM"));
  }
  server.command({"CONFIG", "SET", "maxmemory", "0"});
  for (const limit::Law* the_law : {&linear, &fixed}) {
    EXPECT_EQ(take(*store, {{the_law, "\1a", 1}}).decisions[0].remaining, 8u);
  }
  // A primary that has become a replica.
  server.command({"REPLICAOF", "127.0.0.1", "1"});
  EXPECT_TRUE(take(*store, {{&linear, "\1a", 1}}).undecided);
  EXPECT_THAT(store->status().fault, HasSubstr("READONLY"));
  const auto new_store = open(server);
  EXPECT_TRUE(take(*new_store, {{&fixed, "\1a", 0, Op::peek}}).undecided)
      << "a replica is not read, either";
  EXPECT_THAT(new_store->status().fault, HasSubstr("replica"));
}

// ---- its end

// Calls of which nobody awaits the answer, as those that settle a request. Each spends one unit.
class Unawaited {
 public:
  Unawaited(store::Store& store, std::size_t count)
      : decisions_(count), moments_(count), bundles_(count) {
    for (std::size_t i = 0; i < count; ++i) {
      bundles_[i] = {{&charge_, 1}, {&decisions_[i], 1}};
      store.take({&bundles_[i], 1}, moments_[i],
                 {[](void* completed) noexcept { ++*static_cast<std::atomic<int>*>(completed); },
                  &completed_});
    }
  }
  [[nodiscard]] int completed() const { return completed_; }
  // REQUIRES: all are completed.
  [[nodiscard]] auto undecided() const {
    return std::count_if(bundles_.begin(), bundles_.end(),
                         [](const store::Bundle& bundle) { return bundle.undecided; });
  }

 private:
  const Charge charge_{&fixed, "\1a", 1};
  std::vector<limit::Decision> decisions_;
  std::vector<std::optional<Instant>> moments_;
  std::vector<store::Bundle> bundles_;
  std::atomic<int> completed_{0};
};

TEST(RedisStore, FinishesWhatWasHandedOverWhenItIsClosed) {
  const RedisServer server;
  auto store = open(server);
  const Unawaited calls(*store, 1000);
  store.reset();
  EXPECT_EQ(calls.completed(), 1000);
  EXPECT_EQ(calls.undecided(), 0);
}

TEST(RedisStore, IsClosedInTimeIfRedisIsStopped) {
  const RedisServer server;
  auto store = open(server, std::chrono::milliseconds(50));
  ASSERT_TRUE(soon([&] { return !take(*store, {{&linear, "\1a", 0}}).undecided; }));
  server.stop();
  const Unawaited calls(*store, 10);
  store.reset();
  EXPECT_EQ(calls.completed(), 10);
  EXPECT_EQ(calls.undecided(), 10);
  server.go_on();
}

// ---- TLS and users

// Runs openssl; the test fails if it does.
void openssl(const std::string& arguments) {
  ASSERT_EQ(std::system(("openssl " + arguments + " >/dev/null 2>&1").c_str()), 0) << arguments;
}

TEST(RedisStore, SpeaksTlsAndTrustsOnlyItsAuthority) {
  const RedisServer files;  // for its directory
  const std::string at = files.directory().string() + "/";
  const std::string key = " -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -out ";
  openssl("req -x509 -subj /CN=server -addext subjectAltName=IP:127.0.0.1" + key + at +
          "server.crt -keyout " + at + "server.key");
  openssl("req -x509 -subj /CN=other -addext subjectAltName=IP:127.0.0.1" + key + at +
          "other.crt -keyout " + at + "other.key");
  const std::string port = std::to_string(free_port());
  const RedisServer server({"--tls-port", port, "--bind", "127.0.0.1", "--tls-cert-file",
                            at + "server.crt", "--tls-key-file", at + "server.key",
                            "--tls-ca-cert-file", at + "other.crt"});
  Options options;
  options.nodes = {ServerAddress{"127.0.0.1", port}};
  options.timeout = patience;
  options.login.replace(
      {"", net::TlsContext::load_for_client(at + "server.crt", at + "other.crt", at + "other.key")
               .value()});
  const auto store = RedisStore::open(options).value();
  EXPECT_TRUE(take(*store, {{&linear, "\1a", 1}, {&fixed, "\1a", 1}}).admitted)
      << store->status().fault;

  const auto fault = [&] {
    const auto refused = RedisStore::open(options).value();
    EXPECT_TRUE(take(*refused, {{&linear, "\1a", 1}}).undecided);
    return refused->status().fault;
  };
  options.server_name = "redis.example";
  EXPECT_EQ(fault(), "127.0.0.1:" + port + ": the TLS handshake failed: hostname mismatch");
  options.server_name.clear();
  options.login.replace({"", net::TlsContext::load_for_client(at + "other.crt", "", "").value()});
  EXPECT_EQ(fault(), "127.0.0.1:" + port + ": the TLS handshake failed: self-signed certificate");
  EXPECT_THAT(net::TlsContext::load_for_client(at + "none.crt", "", "").error(),
              HasSubstr("none.crt"));
  EXPECT_THAT(
      net::TlsContext::load_for_client(at + "other.crt", at + "other.crt", at + "server.key")
          .error(),
      HasSubstr("server.key"));
}

// What can't be read is no full quota.
TEST(RedisStore, IsUndecidedIfRedisRefusesToRead) {
  const RedisServer server;
  const auto store = open(server);
  EXPECT_TRUE(take(*store, {{&linear, "\1a", 1}, {&fixed, "\1a", 1}}).admitted);
  for (const char* command : {"-get", "-mget"}) {
    server.command({"ACL", "SETUSER", "default", command});
  }
  for (const limit::Law* the_law : {&linear, &fixed}) {
    EXPECT_TRUE(take(*store, {{the_law, "\1a", 1}}).undecided);
    EXPECT_THAT(store->status().fault,
                testing::AnyOf(HasSubstr("permissions"), HasSubstr("can't run this command")));
  }
}

TEST(RedisStore, NeedsOnlyTheseRights) {
  const RedisServer server;
  server.command({"ACL", "SETUSER", "headgate", "on", ">secret", "~hg:*", "+role", "+script|load",
                  "+eval", "+evalsha", "+get", "+set", "+mget", "+time"});
  server.command({"ACL", "SETUSER", "default", "off"});
  Options options;
  options.nodes = {server.address()};
  options.timeout = patience;
  options.user = "headgate";
  options.login.replace({"secret", nullptr});
  const auto store = RedisStore::open(options).value();
  EXPECT_TRUE(take(*store, {{&linear, "\1a", 1}, {&fixed, "\1a", 1}}).admitted);

  options.prefix = "other:";
  const auto elsewhere = RedisStore::open(options).value();
  EXPECT_TRUE(take(*elsewhere, {{&linear, "\1a", 1}}).undecided);
  EXPECT_THAT(elsewhere->status().fault, HasSubstr("NOPERM"));

  options.login.replace({"wrong", nullptr});
  const auto stranger = RedisStore::open(options).value();
  EXPECT_TRUE(take(*stranger, {{&linear, "\1a", 1}}).undecided);
  EXPECT_THAT(stranger->status().fault, HasSubstr("AUTH: WRONGPASS"));
}

}  // namespace
}  // namespace headgate::redis
