#include "headgate/cli/top/reading.h"

#include <gtest/gtest.h>

#include <string>

namespace headgate::cli {
namespace {

const std::string whole =
    R"({"keys":"plain","requests_per_second":12.500,"denied_per_second":2,)"
    R"("shadow_denied_per_second":0.5,"busiest":[{"policy":"burst","key":"a","per_second":3,)"
    R"("at_most_per_second":4,"units_per_second":5}],"most_denied":[{"policy":"p","key":"b",)"
    R"("per_second":1,"at_most_per_second":1,"shadow_per_second":1}]})";

TEST(TopReading, ReadsAResponse) {
  const auto reading = TopReading::parse(whole);
  ASSERT_TRUE(reading) << reading.error();
  EXPECT_TRUE(reading->plain_keys);
  EXPECT_EQ(reading->requests_per_second, 12.5);
  EXPECT_EQ(reading->denied_per_second, 2);
  EXPECT_EQ(reading->shadow_denied_per_second, 0.5);
  ASSERT_EQ(reading->busiest.size(), 1u);
  EXPECT_EQ(reading->busiest[0].policy, "burst");
  EXPECT_EQ(reading->busiest[0].key, "a");
  EXPECT_EQ(reading->busiest[0].per_second, 3);
  EXPECT_EQ(reading->busiest[0].at_most_per_second, 4);
  EXPECT_EQ(reading->busiest[0].also, 5);
  ASSERT_EQ(reading->most_denied.size(), 1u);
  EXPECT_EQ(reading->most_denied[0].also, 1);
}

TEST(TopReading, ReadsOlderServers) {
  std::string old = whole;
  old.replace(old.find("requests_per"), 8, "decisions");
  ASSERT_TRUE(TopReading::parse(old));
  EXPECT_EQ(TopReading::parse(old)->requests_per_second, 12.5);
}

TEST(TopReading, ReadsTheStateOfRedis) {
  EXPECT_FALSE(TopReading::parse(whole)->redis);
  std::string shared = whole;
  shared.insert(1, R"("redis":{"up":false,"decisions_without_it_per_second":2.5},)");
  const auto reading = TopReading::parse(shared);
  ASSERT_TRUE(reading && reading->redis) << reading.error();
  EXPECT_FALSE(reading->redis->up);
  EXPECT_EQ(reading->redis->decisions_without_it_per_second, 2.5);
}

// The program at that address may not be headgate: it must not control the terminal.
TEST(TopReading, EscapesControlCharacters) {
  std::string hostile = whole;
  hostile.replace(hostile.find("burst"), 5, "\\u001b[2J\\u009b");
  const auto reading = TopReading::parse(hostile);
  ASSERT_TRUE(reading) << reading.error();
  EXPECT_EQ(reading->busiest[0].policy, "\\x1b[2J\\xc2\\x9b");
}

TEST(TopReading, RejectsOtherJson) {
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(TopReading::parse(whole.substr(0, length))) << length;
  }
  for (const char* text : {"{}", "[]", "null", "\xff", R"({"keys":1})"}) {
    const auto reading = TopReading::parse(text);
    ASSERT_FALSE(reading) << text;
    EXPECT_FALSE(reading.error().empty());
  }
}

}  // namespace
}  // namespace headgate::cli
