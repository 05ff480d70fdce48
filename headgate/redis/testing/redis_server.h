// For tests: a real redis-server, without a port, in a directory of its own.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/base/server_address.h"
#include "headgate/base/testing/temporary_directory.h"

namespace headgate::redis {

class RedisServer {
 public:
  // Starts it and waits until it answers. `options`: more arguments for redis-server. Fails the
  // test and aborts if it does not start.
  explicit RedisServer(std::vector<std::string> options = {});
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;
  // Kills it and removes the directory.
  ~RedisServer();

  [[nodiscard]] ServerAddress address() const { return {"", socket().string()}; }
  [[nodiscard]] std::filesystem::path directory() const { return directory_.path(); }

  // Sends one command and returns the reply as text: of an array its elements, each followed by a
  // line end; of nothing "(nil)".
  std::string command(const std::vector<std::string_view>& arguments) const;

  void kill();
  void start();
  // SIGSTOP and SIGCONT.
  void stop() const;
  void go_on() const;

 private:
  [[nodiscard]] std::filesystem::path socket() const { return directory_.file("s"); }

  TemporaryDirectory directory_;
  std::vector<std::string> options_;
  pid_t pid_ = -1;
  int connection_ = -1;
};

}  // namespace headgate::redis
