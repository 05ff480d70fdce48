// Real clusters: whatever moves, dies or is cut off, no key gets more than its quota, and the store
// finds the servers again.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "headgate/redis/key.h"
#include "headgate/redis/redis_store.h"
#include "headgate/redis/testing/blocking.h"
#include "headgate/redis/testing/free_port.h"
#include "headgate/redis/testing/redis_cluster.h"
#include "headgate/redis/testing/redis_server.h"

namespace headgate::redis {
namespace {

using limit::Op;
using store::Charge;

constexpr Nanos second = nanos_per_second;

limit::Law law(std::uint64_t quota, limit::Algorithm algorithm = limit::Algorithm::linear) {
  return limit::make_law({quota, 86400 * second}, {.algorithm = algorithm}).value();
}

// A key of this partition.
std::string key_of(const std::string& policy, const std::string& partition) {
  return static_cast<char>(policy.size()) + policy + static_cast<char>(partition.size()) +
         partition;
}

TEST(Cluster, TakesAllOrNoneOverSlots) {
  RedisCluster cluster;
  const auto store = RedisStore::open(cluster.options()).value();
  const limit::Law large = law(10);
  const limit::Law small = law(1);
  const limit::Law fixed = law(10, limit::Algorithm::fixed_window);
  // Three partitions, which are at three primaries, and two policies of one of them.
  const std::string a = key_of("p", "foo");
  const std::string b = key_of("p", "bar");
  const std::string c = key_of("p", "hello");
  const std::string d = key_of("q", "hello");
  const std::vector<Charge> charges{{&large, a, 2}, {&small, b, 1}, {&large, c, 2}, {&fixed, d, 2}};
  const Taken first = take(*store, charges);
  EXPECT_FALSE(first.undecided) << store->status().fault;
  EXPECT_TRUE(first.admitted);
  const Taken denied = take(*store, charges);
  EXPECT_FALSE(denied.undecided) << store->status().fault;
  EXPECT_FALSE(denied.admitted);
  EXPECT_FALSE(denied.decisions[1].admitted);
  for (const std::size_t i : {0u, 2u, 3u}) {
    EXPECT_TRUE(denied.decisions[i].admitted) << i;
    EXPECT_EQ(denied.decisions[i].remaining, 8u) << i;
    const Charge look{charges[i].law, charges[i].key, 0, Op::peek};
    EXPECT_EQ(take(*store, {look}).decisions[0].remaining, 8u) << "it was given back";
  }
}

// One primary has taken slots in time, another one has not answered: nobody will release them.
TEST(Cluster, SlotsOfACallThatEndsWithoutADecisionAreReleased) {
  RedisCluster cluster;
  Options options = cluster.options();
  options.timeout = std::chrono::milliseconds(100);
  const auto store = RedisStore::open(options).value();
  limit::Terms terms;
  terms.algorithm = limit::Algorithm::concurrency;
  const limit::Law slots = limit::make_law({5, 3600 * second}, terms).value();
  const limit::Law large = law(1000);
  const std::string a = key_of("p", "foo");
  const std::string b = key_of("p", "bar");
  const Charge look{&slots, a, 0, Op::peek};
  ASSERT_TRUE(soon([&] { return !take(*store, {look, {&large, b, 1}}).undecided; }));
  const std::string other = redis_key("hg:", large, b);
  const auto has = [&](std::size_t i) {
    return !cluster.node(i).command({"GET", other}).starts_with("MOVED");
  };
  const RedisServer& late = cluster.node(has(0) ? 0 : has(1) ? 1 : 2);
  late.stop();
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(take(*store, {{&slots, a, 1}, {&large, b, 1}}).undecided);
  }
  EXPECT_TRUE(soon([&] {
    const Taken seen = take(*store, {look});
    return !seen.undecided && seen.decisions[0].remaining == 5;
  }));
  late.go_on();
}

constexpr std::size_t keys = 12;
std::string key(std::size_t i) { return key_of("p", "k" + std::to_string(i)); }

// Counts what is admitted while `disturb` runs, and then goes on until every key has denied.
void expect_exactly_the_quotas(RedisCluster& cluster, std::uint64_t most_lost,
                               const std::function<void()>& disturb) {
  constexpr std::uint64_t quota = 60;
  const limit::Law linear = law(quota);
  const limit::Law fixed = law(quota, limit::Algorithm::fixed_window);
  std::array<std::atomic<std::uint64_t>, keys> admitted{};
  std::array<std::atomic<std::uint64_t>, keys> undecided{};  // these may be charged
  std::atomic<bool> disturbed{false};
  const auto spend = [&](unsigned seed) {
    Options options = cluster.options(seed % 3);
    options.nodes.push_back(ServerAddress{"127.0.0.1", cluster.port(5)});
    options.timeout = std::chrono::seconds(5);
    const auto store = RedisStore::open(options).value();
    for (std::size_t round = 0;; ++round) {
      bool all_denied = true;
      for (std::size_t i = 0; i < keys; ++i) {
        // While something moves only a part, so that quota is left for what comes after.
        const std::uint64_t cost = !disturbed && admitted[i] > quota / 2 ? 0 : 1;
        const Taken taken = take(*store, {{i % 2 == 0 ? &linear : &fixed, key(i), cost}});
        if (taken.undecided) undecided[i] += cost;
        if (taken.admitted && !taken.undecided) admitted[i] += cost;
        all_denied = all_denied && !taken.undecided && !taken.admitted;
      }
      if (disturbed && all_denied) return;
    }
  };
  std::thread one(spend, 1);
  std::thread other(spend, 2);
  disturb();
  disturbed = true;
  one.join();
  other.join();
  for (std::size_t i = 0; i < keys; ++i) {
    EXPECT_LE(admitted[i], quota + most_lost) << i;
    EXPECT_GE(admitted[i] + undecided[i], quota) << i << ": a false denial";
  }
}

// A key of this primary.
std::string key_at(RedisCluster& cluster, std::size_t primary) {
  for (std::size_t i = 0;; ++i) {
    const std::string name = redis_key("hg:", law(1), key(i));
    if (!cluster.node(primary).command({"GET", name}).starts_with("MOVED")) return key(i);
  }
}

TEST(Cluster, NoDenialIsRememberedThatARefundHasEndedWhileAnotherSlotIsAwaited) {
  RedisCluster cluster;
  const auto store = RedisStore::open(cluster.options()).value();
  const limit::Law two = law(2);
  const limit::Shared shared{limit::OnOutage::local, two, true};
  const std::string spent = key_at(cluster, 0);
  const std::string slow = key_at(cluster, 1);
  const auto charge = [&](std::string_view key, std::uint64_t cost, Op op = Op::spend) {
    Charge made{&two, key, cost, op};
    made.shared = &shared;
    return made;
  };
  ASSERT_TRUE(take(*store, {charge(spent, 2), charge(slow, 1)}).admitted);
  const RedisServer& node = cluster.node(1);
  ASSERT_EQ(node.command({"CLIENT", "PAUSE", "3600000", "WRITE"}), "OK");
  const auto given_back = [&] {
    EXPECT_TRUE(take(*store, {charge(spent, 1, Op::refund)}).admitted);
    EXPECT_EQ(node.command({"CLIENT", "UNPAUSE"}), "OK");
  };
  const std::vector<Taken> both =
      take_together(*store, {{charge(spent, 1), charge(slow, 1)}}, {}, false, given_back);
  EXPECT_FALSE(both[0].admitted) << "was decided before the refund";
  EXPECT_TRUE(take(*store, {charge(spent, 1)}).admitted);
}

TEST(Cluster, SlotsMoveUnderLoad) {
  RedisCluster cluster;
  expect_exactly_the_quotas(cluster, 0, [&] {
    for (int round = 0; round < 3; ++round) {
      for (std::size_t i = 0; i < keys; ++i) {
        cluster.move(slot_of(redis_key("hg:", law(1), key(i))));
      }
    }
  });
}

// The replica takes over. It may lack the last writes of the primary; replication on one machine
// takes milliseconds, in which each of two callers spends a few units of a key.
TEST(Cluster, APrimaryIsKilledUnderLoad) {
  RedisCluster cluster;
  expect_exactly_the_quotas(cluster, 20, [&] {
    cluster.node(0).kill();
    EXPECT_TRUE(soon([&] {
      for (std::size_t i = 3; i < 6; ++i) {
        const std::string nodes = cluster.node(i).command({"CLUSTER", "NODES"});
        if (nodes.find("myself,master") != std::string::npos) return true;
      }
      return false;
    }));
  });
}

// A cluster of one.
class LonePrimary {
 public:
  LonePrimary()
      : port_(std::to_string(free_port())),
        server_({"--port", port_, "--bind", "127.0.0.1", "--cluster-enabled", "yes"}) {}

  [[nodiscard]] ServerAddress address() const { return {"127.0.0.1", port_}; }
  std::string command(const std::vector<std::string_view>& words) const {
    return server_.command(words);
  }
  [[nodiscard]] bool comes_to(const std::string& state) const {
    return soon([&] {
      return command({"CLUSTER", "INFO"}).find("cluster_state:" + state) != std::string::npos;
    });
  }
  [[nodiscard]] bool takes_all_slots() const {
    return command({"CLUSTER", "ADDSLOTSRANGE", "0", "16383"}) == "OK" && comes_to("ok");
  }

 private:
  const std::string port_;
  const RedisServer server_;
};

// A primary that is cut off from the others answers, and says that it has its slots; so says the
// one that has taken them over. Two clusters of one do the same.
void expect_left_for_its_successor(const std::function<void(const LonePrimary&)>& refuse_writes) {
  const LonePrimary cut_off;
  const LonePrimary successor;
  ASSERT_TRUE(cut_off.takes_all_slots());
  Options options;
  options.nodes = {cut_off.address(), successor.address()};
  options.cluster = true;
  options.timeout = patience;
  const auto store = RedisStore::open(options).value();
  const limit::Law ten = law(10);
  const auto is_decided = [&] { return !take(*store, {{&ten, key(0), 1}}).undecided; };
  ASSERT_TRUE(soon(is_decided)) << store->status().fault;
  ASSERT_TRUE(successor.takes_all_slots());
  refuse_writes(cut_off);
  EXPECT_TRUE(soon(is_decided)) << store->status().fault;
}

TEST(Cluster, APrimaryThatSaysThatTheClusterIsDownIsLeftForItsSuccessor) {
  expect_left_for_its_successor([](const LonePrimary& primary) {
    EXPECT_EQ(primary.command({"CLUSTER", "DELSLOTS", "0"}), "OK");
    EXPECT_TRUE(primary.comes_to("fail"));
  });
}

TEST(Cluster, APrimaryWithoutItsReplicasIsLeftForItsSuccessor) {
  expect_left_for_its_successor([](const LonePrimary& primary) {
    EXPECT_EQ(primary.command({"CONFIG", "SET", "min-replicas-to-write", "1"}), "OK");
  });
}

}  // namespace
}  // namespace headgate::redis
