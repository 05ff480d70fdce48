// Refunds and debits that are made only if the charge before them is admitted, whatever the law.

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <tuple>

#include "headgate/redis/redis_store.h"
#include "headgate/redis/testing/blocking.h"
#include "headgate/redis/testing/redis_cluster.h"
#include "headgate/redis/testing/redis_server.h"

namespace headgate::redis {
namespace {

using limit::Algorithm;
using limit::Op;
using store::Charge;

constexpr Nanos second = nanos_per_second;
constexpr std::chrono::seconds patience{60};

// Passes once.
const limit::Law once = limit::make_law({1, 86400 * second}, {}).value();

limit::Law law(Algorithm algorithm) {
  return limit::make_law({10, 86400 * second}, {.algorithm = algorithm}).value();
}

std::uint64_t left(store::Store& store, const limit::Law& law, const std::string& key) {
  return take(store, {{&law, key, 0, Op::peek}}).decisions[0].remaining;
}

// Makes the same change twice with one mark, and expects that it is made once.
void expect_one_change(store::Store& store, const limit::Law& law, const std::string& mark,
                       const std::string& key, Op op, std::uint64_t expected) {
  const Taken spent = take(store, {{&law, key, 5}});
  ASSERT_TRUE(spent.admitted);
  Charge change{&law, key, 2, op};
  change.since = spent.now.value_or(Instant{});
  change.if_admitted = true;
  const Taken first = take(store, {{&once, mark}, change});
  EXPECT_TRUE(first.admitted);
  EXPECT_EQ(first.decisions[1].remaining, expected);
  EXPECT_EQ(left(store, law, key), expected);
  const Taken later = take(store, {{&once, mark}, change});
  EXPECT_FALSE(later.undecided);
  EXPECT_FALSE(later.admitted);
  EXPECT_EQ(later.decisions[1].remaining, expected);
  EXPECT_EQ(left(store, law, key), expected);
}

void expect_each_change_once(store::Store& store, const std::string& partition) {
  int marks = 0;
  for (const Algorithm algorithm :
       {Algorithm::linear, Algorithm::exponential, Algorithm::fixed_window,
        Algorithm::moving_window, Algorithm::sliding_window_counter}) {
    SCOPED_TRACE(static_cast<int>(algorithm));
    const limit::Law of = law(algorithm);
    for (const Op op : {Op::refund, Op::debit}) {
      const std::string name = "p" + std::to_string(marks++);
      const std::string key = static_cast<char>(name.size()) + name + partition;
      expect_one_change(store, of, std::string(1, '\0') + "mark" + key, key, op,
                        op == Op::refund ? 7 : 3);
    }
  }
}

TEST(IfAdmitted, AChangeIsMadeOnceUnderEachLaw) {
  const RedisServer server;
  Options options;
  options.nodes = {server.address()};
  options.timeout = patience;
  const auto store = RedisStore::open(options).value();
  expect_each_change_once(*store, "\4jane");
}

// Its mark is in the slot of its key, also if that is no part of the key.
TEST(IfAdmitted, AChangeIsMadeOnceInACluster) {
  RedisCluster cluster;
  const auto store = RedisStore::open(cluster.options()).value();
  for (const char* const partition : {"\4jane", "\4j}n{", ""}) {
    expect_each_change_once(*store, partition);
  }
}

TEST(IfAdmitted, SlotsAreReleasedOnce) {
  const RedisServer server;
  Options options;
  options.nodes = {server.address()};
  options.timeout = patience;
  const auto store = RedisStore::open(options).value();
  const limit::Law slots = law(Algorithm::concurrency);
  const std::string key = "\1p\4jane";
  const std::string mark = std::string(1, '\0') + "mark" + key;
  const Taken held = take(*store, {{&slots, key, 2}});
  Charge release{&slots, key, 1, Op::refund};
  release.since = *held.now;
  release.if_admitted = true;
  EXPECT_TRUE(take(*store, {{&once, mark}, release}).admitted);
  EXPECT_FALSE(take(*store, {{&once, mark}, release}).admitted);
  EXPECT_EQ(left(*store, slots, key), 9u);
}

// A server that is slow executes what its caller has given up: all of it or nothing.
TEST(IfAdmitted, WithALostAnswerBothAreDoneOrNone) {
  const RedisServer server;
  Options options;
  options.nodes = {server.address()};
  options.timeout = patience;
  const auto patient = RedisStore::open(options).value();
  options.timeout = std::chrono::milliseconds(20);
  const auto hasty = RedisStore::open(options).value();
  for (const Algorithm algorithm : {Algorithm::linear, Algorithm::moving_window}) {
    const limit::Law of = law(algorithm);
    const std::string key = algorithm == Algorithm::linear ? "\1l\4jane" : "\1m\4jane";
    const std::string mark = std::string(1, '\0') + "mark" + key;
    ASSERT_TRUE(take(*patient, {{&of, key, 5}}).admitted);
    Charge refund{&of, key, 2, Op::refund};
    refund.if_admitted = true;
    while (take(*hasty, {{&of, key, 0, Op::peek}}).undecided) continue;
    server.stop();
    EXPECT_TRUE(take(*hasty, {{&once, mark}, refund}).undecided);
    server.go_on();
    std::ignore = take(*patient, {{&once, mark}, refund});
    EXPECT_EQ(left(*patient, of, key), 7u);
  }
}

}  // namespace
}  // namespace headgate::redis
