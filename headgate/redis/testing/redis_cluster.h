// For tests: a real cluster of six servers.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/redis/key.h"
#include "headgate/redis/options.h"
#include "headgate/redis/testing/redis_server.h"

namespace headgate::redis {

// Long enough for any machine: what is waited for ends the wait.
constexpr std::chrono::seconds patience{120};

template <class Holds>
bool soon(const Holds& holds) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (std::chrono::steady_clock::now() < end) {
    if (holds()) return true;
  }
  return false;
}

// Three primaries, and a replica for each.
class RedisCluster {
 public:
  // `options`: more arguments for each server.
  explicit RedisCluster(const std::vector<std::string>& options = {});

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

}  // namespace headgate::redis
