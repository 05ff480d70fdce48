// Any commands, over any values, at any times: the module replies to each of them, changes no value
// that is not its own, and replicates what it writes (FakeRedis compares that).
//
//   NAME word word ...      a command of the module
//   = key bytes             sets the key to a foreign value; "= key" makes it a list
//   @ nanoseconds           the time from here on
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/base/duration.h"
#include "headgate/redis_module/testing/clock_file.h"
#include "headgate/redis_module/testing/fake_redis.h"

namespace {

using headgate::redis_module::FakeRedis;

void require(bool holds) {
  if (!holds) std::abort();
}

std::string_view take_until(std::string_view& text, char end) {
  const std::size_t at = std::min(text.find(end), text.size());
  const std::string_view head = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return head;
}

void set_time(std::string_view digits) {
  const bool negative = digits.starts_with('-');
  if (negative) digits.remove_prefix(1);
  const auto ns = headgate::take_digits(digits, headgate::u128{1} << 100);
  const auto time = static_cast<headgate::Nanos>(ns.value_or(0));
  headgate::redis_module::set_clock({negative ? -time : time});
}

void run(FakeRedis& redis, std::string_view line) {
  if (line.starts_with("= ")) {
    line.remove_prefix(2);
    const std::string key(take_until(line, ' '));
    redis.keys[key] = {std::string(line), !line.empty()};
    return;
  }
  if (line.starts_with("@ ")) return set_time(line.substr(2));
  std::vector<std::string> words;
  while (!line.empty()) words.emplace_back(take_until(line, ' '));
  if (words.empty()) return;
  if (std::find(redis.registered.begin(), redis.registered.end(), words[0]) ==
      redis.registered.end()) {
    return;
  }
  const auto before = redis.keys;
  const std::size_t writes = redis.writes.size();
  const std::string reply = redis.command(words);
  const bool reads = words[0] == "hg.peek" || words[0] == "hg.info" || reply.starts_with('-');
  if (reads) require(redis.writes.size() == writes);
  for (const auto& [key, value] : before) {
    const FakeRedis::Value& now = redis.keys.at(key);
    require(now.is_string == value.is_string);
    if (reads || !value.is_string) require(now.bytes == value.bytes);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  set_time("1700000000000000000");
  static FakeRedis redis;
  static const bool loaded = redis.load();
  require(loaded);
  redis.keys.clear();
  redis.writes.clear();
  redis.logged.clear();
  while (!input.empty()) run(redis, take_until(input, '\n'));
  return 0;
}
