#include "headgate/redis/key_name.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headgate/redis/key.h"

namespace headgate::redis {
namespace {

constexpr Nanos second = nanos_per_second;

TEST(KeyName, IsReadAsItIsWritten) {
  using limit::Algorithm;
  for (const Algorithm algorithm :
       {Algorithm::linear, Algorithm::exponential, Algorithm::fixed_window,
        Algorithm::moving_window, Algorithm::sliding_window_counter, Algorithm::concurrency}) {
    const limit::Law law = limit::make_law({10, second}, {.algorithm = algorithm}).value();
    for (const std::string prefix : {"hg:", "", "{x}:"}) {
      for (const std::string policy : {"api", "a", "with {braces}"}) {
        for (const std::string partition : {"", "\4jane", "\4jane\2}{"}) {
          std::string key(1, static_cast<char>(policy.size()));
          key += policy + partition;
          const std::string name = redis_key(prefix, law, key);
          const auto read = KeyName::parse(name);
          ASSERT_TRUE(read) << name;
          EXPECT_EQ(read->policy, policy) << name;
          EXPECT_EQ(read->partition, partition) << name;
          EXPECT_EQ(read->algorithm, algorithm) << name;
        }
      }
    }
  }
}

TEST(KeyName, OtherNamesAreNone) {
  for (const char* name : {"", "}", "user123", "{}", "a{}", "\5api{}", "hg:\3api{jane"}) {
    EXPECT_FALSE(KeyName::parse(name)) << name;
  }
}

}  // namespace
}  // namespace headgate::redis
