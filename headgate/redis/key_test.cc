#include "headgate/redis/key.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace headgate::redis {
namespace {

constexpr Nanos second = nanos_per_second;
const limit::Law linear = limit::make_law({10, 10 * second}, {}).value();
const limit::Law fraction = limit::make_law({7, 10 * second}, {}).value();
const limit::Law fixed =
    limit::make_law({10, second}, {.algorithm = limit::Algorithm::fixed_window}).value();
const limit::Law moving =
    limit::make_law({10, second}, {.algorithm = limit::Algorithm::moving_window}).value();

TEST(RedisKey, HasThePartitionInBraces) {
  EXPECT_EQ(redis_key("hg:", linear, "\3api\4jane"), "hg:\3api{\4jane}");
  EXPECT_EQ(redis_key("hg:", fixed, "\3api\4jane"), "hg:E\3api{\4jane}");
  EXPECT_EQ(redis_key("", linear, "\3all"), "\3all{}");
  EXPECT_EQ(redis_key("hg:", limit::Closed{}, "\3api\4jane"), "");
}

TEST(RedisKey, IsAnotherForEachKeyAndKindOfLaw) {
  EXPECT_EQ(redis_key("hg:", linear, "\1a\1b"), redis_key("hg:", fraction, "\1a\1b"));
  std::set<std::string> names;
  std::size_t count = 0;
  for (const limit::Law* law : {&linear, &fixed, &moving}) {
    for (const char* key : {"\1a\1b", "\1a\2b}", "\1a\2}b", "\2a{\1b", "\2a}\1b", "\1a", "\1b"}) {
      names.insert(redis_key("hg:", *law, key));
      ++count;
    }
  }
  EXPECT_EQ(names.size(), count);
}

TEST(RedisKey, PoliciesOfOneClientMeetInASlot) {
  const auto slot = [](const limit::Law& law, const char* key) {
    return slot_of(redis_key("hg:", law, key));
  };
  EXPECT_EQ(slot(linear, "\5burst\4jane"), slot(moving, "\5daily\4jane"));
  EXPECT_NE(slot(linear, "\5burst"), slot(linear, "\5daily")) << "no partition: spread by name";
}

// redis-cli CLUSTER KEYSLOT of redis-server 7.0.
TEST(RedisKey, HasTheSlotThatRedisComputes) {
  EXPECT_EQ(slot_of("123456789"), 12739);
  EXPECT_EQ(slot_of("foo"), 12182);
  EXPECT_EQ(slot_of("bar{foo}x}"), slot_of("foo"));
  EXPECT_EQ(slot_of("{}foo"), 9500);
  EXPECT_EQ(slot_of(""), 0);
}

}  // namespace
}  // namespace headgate::redis
