// A real cluster of six servers: whatever moves or dies, no key gets more than its quota, and the
// store finds the servers again.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "headgate/redis/key.h"
#include "headgate/redis/redis_store.h"
#include "headgate/redis/testing/blocking.h"
#include "headgate/redis/testing/free_port.h"
#include "headgate/redis/testing/redis_server.h"

namespace headgate::redis {
namespace {

using limit::Op;
using store::Charge;

constexpr Nanos second = nanos_per_second;
// Long enough for any machine: what is waited for ends the wait.
constexpr std::chrono::seconds patience{120};

struct Ended {
  int status = 0;
  std::string output;
};

Ended run(const std::string& command) {
  Ended done;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  std::array<char, 4096> bytes;
  while (const std::size_t got = fread(bytes.data(), 1, bytes.size(), pipe)) {
    done.output.append(bytes.data(), got);
  }
  done.status = pclose(pipe);
  return done;
}

template <class Holds>
bool soon(const Holds& holds) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (std::chrono::steady_clock::now() < end) {
    if (holds()) return true;
  }
  return false;
}

// Three primaries, and a replica for each.
class Cluster {
 public:
  Cluster() {
    std::string addresses;
    for (std::size_t i = 0; i < 6; ++i) {
      const std::string port = std::to_string(free_port());
      nodes_.push_back(std::make_unique<RedisServer>(std::vector<std::string>{
          "--port", port, "--bind", "127.0.0.1", "--cluster-enabled", "yes",
          "--cluster-node-timeout", "1500", "--cluster-replica-validity-factor", "0"}));
      ports_.push_back(port);
      addresses += " 127.0.0.1:" + port;
    }
    const Ended made =
        run("redis-cli --cluster create" + addresses + " --cluster-replicas 1 --cluster-yes");
    EXPECT_EQ(made.status, 0) << made.output;
    EXPECT_TRUE(soon([&] { return all_know_all(); }));
  }

  [[nodiscard]] Options options(std::size_t node = 0) const {
    Options options;
    options.nodes = {ServerAddress{"127.0.0.1", ports_[node]}};
    options.cluster = true;
    options.timeout = patience;
    return options;
  }
  [[nodiscard]] const std::string& port(std::size_t i) const { return ports_[i]; }
  [[nodiscard]] RedisServer& node(std::size_t i) { return *nodes_[i]; }
  [[nodiscard]] std::string id(std::size_t i) const {
    return nodes_[i]->command({"CLUSTER", "MYID"});
  }

  // Moves the slot from its primary to the next one, as redis-cli does, but slot by slot.
  void move(std::uint16_t slot) {
    const std::size_t from = primary_of(slot);
    const std::size_t to = (from + 1) % 3;
    const std::string number = std::to_string(slot);
    const auto set = [&](std::size_t i, std::string_view state, std::size_t other) {
      EXPECT_EQ(nodes_[i]->command({"CLUSTER", "SETSLOT", number, state, id(other)}), "OK");
    };
    set(to, "IMPORTING", from);
    set(from, "MIGRATING", to);
    for (;;) {
      const std::string found = nodes_[from]->command({"CLUSTER", "GETKEYSINSLOT", number, "1"});
      if (found.empty()) break;
      const std::string_view name = std::string_view(found).substr(0, found.size() - 1);
      const std::string moved =
          nodes_[from]->command({"MIGRATE", "127.0.0.1", ports_[to], name, "0", "60000"});
      EXPECT_TRUE(moved == "OK" || moved == "NOKEY") << moved;
    }
    set(to, "NODE", to);
    set(from, "NODE", to);
    set(3 - from - to, "NODE", to);
  }

 private:
  [[nodiscard]] bool all_know_all() const {
    for (const auto& node : nodes_) {
      const std::string info = node->command({"CLUSTER", "INFO"});
      if (info.find("cluster_state:ok") == std::string::npos) return false;
      if (info.find("cluster_known_nodes:6") == std::string::npos) return false;
    }
    // The replicas are ready to take over.
    std::size_t replicas = 0;
    for (const auto& node : nodes_) {
      if (node->command({"ROLE"}).find("connected") != std::string::npos) ++replicas;
    }
    return replicas == 3;
  }

  // The slot's primary, once the three agree, also on the epoch: the next primary then takes a
  // higher one, so that a message of the former primary that arrives late does not undo the move.
  [[nodiscard]] std::size_t primary_of(std::uint16_t slot) const {
    std::size_t primary = 0;
    EXPECT_TRUE(soon([&] {
      std::size_t claims = 0;
      std::set<std::string> epochs;
      for (std::size_t i = 0; i < 3; ++i) {
        if (has(i, slot)) primary = i, ++claims;
        const std::string info = nodes_[i]->command({"CLUSTER", "INFO"});
        const std::size_t at = info.find("cluster_current_epoch");
        epochs.insert(info.substr(at, info.find('\n', at) - at));
      }
      return claims == 1 && epochs.size() == 1;
    })) << "slot "
        << slot;
    return primary;
  }
  // Whether the node is the slot's primary.
  [[nodiscard]] bool has(std::size_t i, std::uint16_t slot) const {
    const std::string reply = nodes_[i]->command({"GET", "{" + tag_of(slot) + "}"});
    return !reply.starts_with("MOVED");
  }
  // A text that is in the slot.
  [[nodiscard]] static std::string tag_of(std::uint16_t slot) {
    for (int i = 0;; ++i) {
      if (slot_of(std::to_string(i)) == slot) return std::to_string(i);
    }
  }

  std::vector<std::unique_ptr<RedisServer>> nodes_;
  std::vector<std::string> ports_;
};

limit::Law law(std::uint64_t quota, limit::Algorithm algorithm = limit::Algorithm::linear) {
  return limit::make_law({quota, 86400 * second}, {.algorithm = algorithm}).value();
}

// A key of this partition.
std::string key_of(const std::string& policy, const std::string& partition) {
  return static_cast<char>(policy.size()) + policy + static_cast<char>(partition.size()) +
         partition;
}

TEST(RedisCluster, TakesAllOrNoneOverSlots) {
  Cluster cluster;
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

constexpr std::size_t keys = 12;
std::string key(std::size_t i) { return key_of("p", "k" + std::to_string(i)); }

// Counts what is admitted while `disturb` runs, and then goes on until every key has denied.
void expect_exactly_the_quotas(Cluster& cluster, std::uint64_t most_lost,
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

TEST(RedisCluster, SlotsMoveUnderLoad) {
  Cluster cluster;
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
TEST(RedisCluster, APrimaryIsKilledUnderLoad) {
  Cluster cluster;
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

}  // namespace
}  // namespace headgate::redis
