// Tries what a store needs of Redis, and says what is missing.
#pragma once

#include <string>
#include <vector>

#include "headgate/redis/options.h"

namespace headgate::redis {

struct Trial {
  std::vector<std::string> findings;  // sentences, in the order in which they were found
  std::vector<std::string> faults;    // the same; what keeps the store from working
};

// Connects to every node and, in a cluster, to every primary; with sentinels, to each of them and
// to the primary that they name. Writes one key that expires after a second. Waits for each server
// for some seconds at most. May throw std::bad_alloc.
[[nodiscard]] Trial try_redis(const Options& options);

}  // namespace headgate::redis
