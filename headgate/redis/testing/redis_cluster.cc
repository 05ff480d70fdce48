#include "headgate/redis/testing/redis_cluster.h"

#include <array>
#include <cstdio>
#include <utility>

#include "headgate/redis/testing/free_port.h"

namespace headgate::redis {
namespace {

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

}  // namespace

RedisCluster::RedisCluster(const std::vector<std::string>& options) {
  std::string addresses;
  for (std::size_t i = 0; i < 6; ++i) {
    const std::string port = std::to_string(free_port());
    std::vector<std::string> arguments{"--port",
                                       port,
                                       "--bind",
                                       "127.0.0.1",
                                       "--cluster-enabled",
                                       "yes",
                                       "--cluster-node-timeout",
                                       "1500",
                                       "--cluster-replica-validity-factor",
                                       "0"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    nodes_.push_back(std::make_unique<RedisServer>(std::move(arguments)));
    ports_.push_back(port);
    addresses += " 127.0.0.1:" + port;
  }
  const Ended made =
      run("redis-cli --cluster create" + addresses + " --cluster-replicas 1 --cluster-yes");
  EXPECT_EQ(made.status, 0) << made.output;
  EXPECT_TRUE(soon([&] { return all_know_all(); }));
}

}  // namespace headgate::redis
