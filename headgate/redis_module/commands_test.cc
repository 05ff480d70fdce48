// The module's commands over strings in memory, at times that the test gives.

#include "headgate/redis_module/commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headgate/redis_module/testing/clock_file.h"
#include "headgate/redis_module/testing/fake_redis.h"

namespace headgate::redis_module {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
using Words = std::vector<std::string>;

constexpr Nanos second = nanos_per_second;
constexpr Instant noon{1'700'000'000 * second + 123'456'000};

class Module : public testing::Test {
 protected:
  Module() {
    set_clock(noon);
    EXPECT_TRUE(redis_.load());
  }

  // The reply on one line.
  std::string ask(const Words& words) {
    std::string text = redis_.command(words);
    for (char& c : text) {
      if (c == '\n') c = ' ';
    }
    return text;
  }

  FakeRedis redis_;
};

TEST_F(Module, TakeRepliesWithAllThatFieldsNeed) {
  EXPECT_EQ(ask({"hg.take", "k", "10/10s", "3"}), "[ 1 1700000000 123456 [ 1 10 7 7 0 0 ] ] ");
  EXPECT_EQ(redis_.keys.at("k").bytes, "1700000003123456000");
  EXPECT_EQ(ask({"hg.take", "k", "10/10s", "8"}), "[ 0 1700000000 123456 [ 0 10 7 1 1 0 ] ] ");
  EXPECT_EQ(ask({"hg.take", "k", "10/10s", "11"}), "[ 0 1700000000 123456 [ 0 10 7 -1 -1 0 ] ] ");
  set_clock({noon.ns + 500'000'000});
  EXPECT_EQ(ask({"hg.take", "k", "10/10s", "8"}),
            "[ 0 1700000000 623456 [ 0 10 7 1 0 500000000 ] ] ");
  EXPECT_THAT(redis_.writes, ElementsAre("SET k")) << "a denial that costs nothing writes nothing";
}

TEST_F(Module, SeveralKeysAreTakenAllOrNone) {
  EXPECT_EQ(ask({"hg.take", "a", "10/10s", "1", "b", "fixed-window:2/1m", "2"}),
            "[ 1 1700000000 123456 [ 1 10 9 9 0 0 ] [ 1 2 0 60 0 0 ] ] ");
  EXPECT_EQ(ask({"hg.take", "a", "10/10s", "1", "b", "fixed-window:2/1m", "1"}),
            "[ 0 1700000000 123456 [ 1 10 9 9 0 0 ] [ 0 2 0 60 60 0 ] ] ");
  EXPECT_EQ(redis_.keys.at("a").bytes, "1700000001123456000");
  EXPECT_EQ(redis_.keys.at("b").bytes.size(), 24u);
  EXPECT_THAT(redis_.writes, ElementsAre("SET a", "SET b"));
  // Denied elsewhere: nothing is taken, and what is left is shown.
  EXPECT_EQ(ask({"hg.take", "a", "10/10s", "denied:1"}),
            "[ 0 1700000000 123456 [ 1 10 9 9 0 0 ] ] ");
  EXPECT_EQ(redis_.writes.size(), 2u);
}

TEST_F(Module, PeekWritesNothingAndRefundGivesBack) {
  ask({"hg.take", "k", "10/10s", "5"});
  EXPECT_EQ(ask({"hg.peek", "k", "10/10s", "5"}), "[ 1 1700000000 123456 [ 1 10 0 1 0 0 ] ] ");
  EXPECT_EQ(ask({"hg.peek", "k", "10/10s", "6"}), "[ 0 1700000000 123456 [ 0 10 5 1 1 0 ] ] ");
  EXPECT_EQ(ask({"hg.peek", "k", "10/10s", "0"}), "[ 1 1700000000 123456 [ 1 10 5 5 0 0 ] ] ");
  EXPECT_EQ(redis_.writes.size(), 1u);
  EXPECT_EQ(ask({"hg.refund", "k", "10/10s", "2"}), "[ 1 1700000000 123456 [ 1 10 7 7 0 0 ] ] ");
  EXPECT_EQ(ask({"hg.take", "k", "10/10s", "debit:1"}),
            "[ 1 1700000000 123456 [ 1 10 6 6 0 0 ] ] ");
  EXPECT_EQ(ask({"hg.take", "k", "10/10s", "refund:1", "l", "10/10s", "peek:0"}),
            "[ 1 1700000000 123456 [ 1 10 7 7 0 0 ] [ 1 10 10 10 0 0 ] ] ");
  EXPECT_EQ(redis_.keys.count("l"), 0u);
}

TEST_F(Module, SlotsAreReleasedByWhenTheyWereTaken) {
  const std::string law = "concurrency:2,lease=10s";
  EXPECT_EQ(ask({"hg.take", "k", law, "1"}), "[ 1 1700000000 123456 [ 1 2 1 -1 0 0 ] ] ");
  set_clock({noon.ns + second});
  EXPECT_EQ(ask({"hg.take", "k", law, "1"}), "[ 1 1700000001 123456 [ 1 2 0 -1 0 0 ] ] ");
  EXPECT_EQ(ask({"hg.take", "k", law, "1"}), "[ 0 1700000001 123456 [ 0 2 0 -1 -1 0 ] ] ");
  ask({"hg.refund", "k", law, "1@" + std::string("1700000000123456000")});
  EXPECT_EQ(redis_.keys.at("k").bytes.size(), 16u);
  set_clock({noon.ns + 10 * second});
  EXPECT_EQ(ask({"hg.peek", "k", law, "0"}), "[ 1 1700000010 123456 [ 1 2 1 -1 0 0 ] ] ")
      << "the slot that is left is the later one";
}

TEST_F(Module, ThrottleIsThatOfRedisCell) {
  EXPECT_EQ(ask({"cl.throttle", "user123", "15", "30", "60"}), "[ 0 16 15 -1 2 ] ");
  EXPECT_EQ(redis_.keys.at("user123").bytes, "1700000002123456000") << "as redis-cell stores it";
  EXPECT_EQ(ask({"cl.throttle", "k", "0", "1", "100"}), "[ 0 1 0 -1 100 ] ");
  EXPECT_EQ(ask({"cl.throttle", "k", "0", "1", "100"}), "[ 1 1 0 100 100 ] ");
  EXPECT_EQ(ask({"cl.throttle", "k", "0", "1", "100", "0"}), "[ 0 1 0 -1 100 ] ");
  EXPECT_EQ(ask({"cl.throttle", "k", "0", "1", "100", "2"}), "[ 1 1 0 -1 100 ] ");
  EXPECT_EQ(ask({"cl.throttle", "k", "0", "1", "100", "-1"}), "[ 0 1 1 -1 0 ] ");
}

TEST_F(Module, AForeignValueIsAnErrorAndStays) {
  redis_.keys["list"] = {"", false};
  redis_.keys["text"] = {"hello"};
  redis_.keys["unsorted"] = {
      std::string("\2\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0"
                  "\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0",
                  32)};
  for (const std::string key : {"list", "text", "unsorted"}) {
    for (const Words& words : {Words{"hg.take", key, "10/10s", "1"},
                               {"hg.peek", key, "10/10s", "1"},
                               {"hg.refund", key, "10/10s", "1"},
                               {"hg.take", key, "fixed-window:10/10s", "1"},
                               {"hg.take", key, "exponential:10/10s", "1"},
                               {"hg.take", key, "moving-window:9/10s", "1"},
                               {"hg.take", "other", "10/10s", "1", key, "concurrency:10", "1"},
                               {"cl.throttle", key, "1", "1", "1"},
                               {"hg.info", key, "10/10s"}}) {
      EXPECT_THAT(ask(words), StartsWith("-WRONGTYPE ")) << words[0] << ' ' << key;
    }
  }
  EXPECT_EQ(redis_.keys.at("text").bytes, "hello");
  EXPECT_EQ(redis_.keys.size(), 3u) << "no other key of such a call is changed";
  EXPECT_THAT(redis_.writes, ElementsAre());
}

TEST_F(Module, SaysWhatIsWrong) {
  const std::vector<std::pair<Words, std::string>> faults{
      {{"hg.take"}, "-ERR wrong number of arguments"},
      {{"hg.take", "k", "10/10s"}, "-ERR wrong number of arguments"},
      {{"hg.take", "k", "10/10s", "1", "l"}, "-ERR wrong number of arguments"},
      {{"hg.take", "k", "x", "1"}, "-ERR law: the quota is out of range"},
      {{"hg.take", "k", "", "1"}, "-ERR law: the quota is out of range"},
      {{"hg.take", "k", "/10s", "1"}, "-ERR law: the quota is out of range"},
      {{"hg.take", "k", "10/10s", "x\r\n"},
       "-ERR the cost is no number of units; expected 0 to "
       "999999999999999: x   "},
      {{"hg.take", "k", "10/10s", "-1"}, "-ERR the cost is no number"},
      {{"hg.take", "k", "10/10s", "give:1"}, "-ERR the cost is no number"},
      {{"hg.take", "k", "10/10s", "spend:1@5"}, "-ERR the cost is no number"},
      {{"hg.peek", "k", "10/10s", "spend:1"}, "-ERR the cost is no number"},
      {{"hg.refund", "k", "10/10s", "spend:1"}, "-ERR the cost is no number"},
      {{"hg.take", "k", "10/10s", "1", "k", "10/10s", "1"}, "-ERR a key occurs twice: k"},
      {{"cl.throttle", "k", "1", "1"}, "-ERR wrong number of arguments"},
      {{"cl.throttle", "k", "1", "1", "1", "1", "1"}, "-ERR wrong number of arguments"},
      {{"cl.throttle", "k", "x", "1", "1"}, "-ERR Couldn't parse as integer: x"},
      {{"cl.throttle", "k", "1", "0", "1"}, "-ERR Zero rates are not supported"},
      {{"hg.info", "k", "10/10s", "1"}, "-ERR wrong number of arguments"},
      {{"hg.info", "k", "10"}, "-ERR law: the window is no duration"},
      {{"hg.take", "k", "10/zz", "1"},
       "-ERR law: the window is no duration; expected QUOTA/WINDOW, as 100/60s, with a unit "
       "ns us ms s m h d w"},
  };
  for (const auto& [words, says] : faults) EXPECT_THAT(ask(words), StartsWith(says));
  Words many{"hg.take"};
  for (int i = 0; i < 129; ++i) {
    for (const std::string& word : {std::to_string(i), std::string("1/1s"), std::string("1")}) {
      many.push_back(word);
    }
  }
  EXPECT_THAT(ask(many), StartsWith("-ERR more than 128 keys"));
  many.resize(1 + 128 * 3);
  EXPECT_THAT(ask(many), StartsWith("[ 1 "));
}

TEST_F(Module, InfoSpeaksInWords) {
  EXPECT_THAT(ask({"hg.info"}), HasSubstr("headgate "));
  const std::string key =
      "hg:\3api{\7"
      "1.2.3.4\4jane}";
  ask({"hg.take", key, "10/10s", "3"});
  EXPECT_EQ(
      ask({"hg.info", key, "10/10s"}),
      "[ policy: api partition: 1.2.3.4, jane algorithm: linear remaining: 7 of 10 reset: 7 s "
      "state: the quota is full in 3.000000000 s expires in: " +
          std::to_string(redis_.keys.at(key).expires_at) + " ms ] ");
  EXPECT_THAT(ask({"hg.info", "none"}), HasSubstr("none; the quota is full"));
  ask({"hg.take", "w", "fixed-window:10/10s", "3"});
  EXPECT_THAT(ask({"hg.info", "w"}), HasSubstr("24 bytes; with the law"));
  EXPECT_THAT(ask({"hg.info", "w", "fixed-window:10/10s"}), HasSubstr("remaining: 7 of 10"));
}

}  // namespace
}  // namespace headgate::redis_module
