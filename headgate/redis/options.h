// How to reach Redis, and what its keys are called.
#pragma once

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/base/server_address.h"
#include "headgate/redis/clock.h"
#include "headgate/redis/counts.h"
#include "headgate/redis/login.h"

namespace headgate::redis {

// A server that has not answered for so long is connected to anew: after a failover the packets of
// the old connection may go nowhere.
inline constexpr std::chrono::milliseconds link_patience{1000};

struct Options {
  // One server; or, with `cluster`, some nodes of a cluster: any one of them is enough to begin.
  // With `sentinel` some sentinels, which know the primary under that name.
  std::vector<ServerAddress> nodes;
  bool cluster = false;
  std::string sentinel;     // empty: the nodes are no sentinels
  std::string user;         // empty: the default user
  CurrentLogin login;       // of connections that are opened from now on
  std::string server_name;  // whom the certificate must name; empty: the host of the address
  // No take() lasts longer, but those whose bundles are all patient.
  std::chrono::milliseconds timeout{50};
  std::string prefix = "hg:";  // of every key
  Clock clock = Clock::redis;
  RedisCounts* counts = nullptr;  // outlives the store; null: nothing is counted

  // How long a take() lasts whose bundles are all patient, at most: what was sent before the
  // connection is given up may still be answered.
  [[nodiscard]] std::chrono::milliseconds patience() const noexcept {
    return std::max(timeout, link_patience);
  }
  // The words of AUTH, which refer to the user here and to the password. REQUIRES: a password.
  [[nodiscard]] std::vector<std::string_view> auth(std::string_view password) const {
    if (user.empty()) return {"AUTH", password};
    return {"AUTH", user, password};
  }
};

}  // namespace headgate::redis
