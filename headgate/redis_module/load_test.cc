// What the module asks of a server before it lets itself be loaded.

#include "headgate/redis_module/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headgate/redis_module/testing/fake_redis.h"

namespace headgate::redis_module {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Load, RegistersTheCommands) {
  FakeRedis redis;
  EXPECT_TRUE(redis.load());
  EXPECT_THAT(redis.registered,
              ElementsAre("cl.throttle", "hg.take", "hg.peek", "hg.refund", "hg.info"));
  EXPECT_THAT(redis.categories,
              ElementsAre("write fast", "write fast", "read fast", "write fast", "read fast"));
  EXPECT_THAT(redis.logged, ElementsAre());
}

TEST(Load, NamesTheFunctionThatIsMissing) {
  for (const char* name : {"Alloc",
                           "Free",
                           "IsModuleNameBusy",
                           "SetModuleAttribs",
                           "CreateCommand",
                           "StringPtrLen",
                           "OpenKey",
                           "CloseKey",
                           "KeyType",
                           "StringDMA",
                           "GetExpire",
                           "SetExpire",
                           "Milliseconds",
                           "StringTruncate",
                           "Replicate",
                           "NotifyKeyspaceEvent",
                           "WrongArity",
                           "ReplyWithError",
                           "ReplyWithArray",
                           "ReplyWithLongLong",
                           "ReplyWithStringBuffer"}) {
    FakeRedis redis(name);
    EXPECT_FALSE(redis.load()) << name;
    EXPECT_THAT(redis.logged, ElementsAre(HasSubstr(std::string("no RedisModule_") + name + ";")));
    EXPECT_THAT(redis.registered, ElementsAre());
  }
}

TEST(Load, WithoutALogThereIsNothingToSay) {
  FakeRedis redis("Log");
  EXPECT_FALSE(redis.load());
}

// FakeRedis compares the time at which a key expires with what is replicated.
TEST(Load, AKeyExpiresAtTheSameTimeByASpan) {
  FakeRedis redis("SetAbsExpire");
  EXPECT_TRUE(redis.load());
  redis.command({"cl.throttle", "k", "15", "30", "60"});
  EXPECT_THAT(redis.writes, ElementsAre("SET k"));
}

TEST(Load, DescriptionsAreNotNeeded) {
  for (const char* name : {"GetCommand", "SetCommandInfo", "SetCommandACLCategories"}) {
    FakeRedis redis(name);
    EXPECT_TRUE(redis.load()) << name;
  }
}

}  // namespace
}  // namespace headgate::redis_module
