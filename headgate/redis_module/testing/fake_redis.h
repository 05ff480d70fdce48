// For tests: the module API over strings in memory, without Redis. Keys do not expire.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace headgate::redis_module {

// There can be one at a time, because the module's functions are found once for the process.
class FakeRedis {
 public:
  struct Value {
    std::string bytes;
    bool is_string = true;
    std::int64_t expires_at = -1;  // [ms since 1970]
  };

  // `missing`: a function of the API that this server does not have.
  explicit FakeRedis(std::string missing = {});
  FakeRedis(const FakeRedis&) = delete;
  FakeRedis& operator=(const FakeRedis&) = delete;
  ~FakeRedis();

  // Loads the module; returns whether it wants to be loaded.
  [[nodiscard]] bool load();

  // Runs a command of the module. Returns its reply as text: integers and texts each on a line,
  // arrays in brackets, an error behind "-".
  std::string command(const std::vector<std::string>& words);

  std::map<std::string, Value> keys;
  std::vector<std::string> logged;
  std::vector<std::string> registered;  // names of commands
  std::vector<std::string> categories;  // one per command
  std::vector<std::string> writes;      // the commands that replicas get
};

}  // namespace headgate::redis_module
