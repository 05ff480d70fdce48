// The replies of redis-cell and throttlecrab, and where those of headgate differ.

#include "headgate/redis/throttle/throttle_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/store/table.h"

namespace headgate::redis {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Reply = std::array<std::int64_t, 5>;
using Words = std::vector<std::string>;

// One table, and a clock that tests move.
class Throttles {
 public:
  Throttles() {
    auto table = store::Table::open({.memory = 1 << 20,
                                     .sharing = store::Sharing::threads,
                                     .clock = &store::ClockSource::still()});
    if (!table) std::abort();
    table_ = std::move(*table);
    start_ = table_->now();
  }

  // `text` is the call without the command's name. An error is returned as its text.
  Reply decide(ThrottleDialect dialect, const Words& arguments, Nanos at = 0) {
    std::vector<std::string_view> words = {"name"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    const auto call = ThrottleCall::read(dialect, words);
    if (!call) {
      error = std::string(call.error().text) + std::string(call.error().shown);
      return {};
    }
    const auto limit = limits_.make(call->rate);
    if (!limit) {
      error = limit.error();
      return {};
    }
    const store::Charge charge{&(*limit)->law, words[1], call->cost(), call->op()};
    limit::Decision decision;
    store::Bundle bundle{{&charge, 1}, {&decision, 1}};
    table_->take({&bundle, 1}, {start_.ns + at}, {});
    return call->reply(**limit, decision);
  }
  Reply cell(const Words& arguments, Nanos at = 0) {
    return decide(ThrottleDialect::redis_cell, arguments, at);
  }
  Reply crab(const Words& arguments, Nanos at = 0) {
    return decide(ThrottleDialect::throttlecrab, arguments, at);
  }

  std::string error;

 private:
  std::unique_ptr<store::Table> table_;
  ThrottleLimits limits_;
  Instant start_;
};

constexpr Nanos ms = 1'000'000;
constexpr Nanos second = 1'000'000'000;

// limited, limit, remaining, retry_after, reset_after
TEST(ClThrottle, AnswersTheVectorsOfRedisCell) {
  struct Vector {
    Nanos at;
    int quantity;
    Reply reply;
  };
  // The capacity is 5, and one unit returns per second. Seconds are rounded up.
  const std::vector<Vector> vectors = {
      {0, 6, {1, 5, 5, -1, 0}},         {0, 1, {0, 5, 4, -1, 1}},
      {0, 1, {0, 5, 3, -1, 2}},         {0, 1, {0, 5, 2, -1, 3}},
      {0, 1, {0, 5, 1, -1, 4}},         {0, 1, {0, 5, 0, -1, 5}},
      {0, 1, {1, 5, 0, 1, 5}},          {3000 * ms, 1, {0, 5, 2, -1, 3}},
      {3100 * ms, 1, {0, 5, 1, -1, 4}}, {4000 * ms, 1, {0, 5, 1, -1, 4}},
      {8000 * ms, 1, {0, 5, 4, -1, 1}}, {9500 * ms, 1, {0, 5, 4, -1, 1}},
      {9500 * ms, 0, {0, 5, 4, -1, 1}}, {9500 * ms, 2, {0, 5, 2, -1, 3}},
      {9500 * ms, 5, {1, 5, 2, 3, 3}},
  };
  Throttles throttles;
  for (const Vector& vector : vectors) {
    EXPECT_EQ(throttles.cell({"k", "4", "1", "1", std::to_string(vector.quantity)}, vector.at),
              vector.reply)
        << static_cast<std::int64_t>(vector.at / ms) << " ms, quantity " << vector.quantity;
  }
}

TEST(ClThrottle, AnswersItsExamples) {
  Throttles throttles;
  EXPECT_THAT(throttles.cell({"user123", "15", "30", "60"}), ElementsAre(0, 16, 15, -1, 2));
  EXPECT_THAT(throttles.cell({"k", "0", "1", "2"}), ElementsAre(0, 1, 0, -1, 2));
  EXPECT_THAT(throttles.cell({"k", "0", "1", "2"}), ElementsAre(1, 1, 0, 2, 2));
}

TEST(ClThrottle, NeverSendsAClientBackTooEarly) {
  EXPECT_TRUE(rc::check([] {
    const auto burst = *rc::gen::inRange<std::int64_t>(0, 20);
    const auto count = *rc::gen::inRange<std::int64_t>(1, 1000);
    const auto period = *rc::gen::inRange<std::int64_t>(1, 100);
    Throttles throttles;
    const auto decide = [&](std::int64_t quantity, Nanos at) {
      return throttles.cell({"k", std::to_string(burst), std::to_string(count),
                             std::to_string(period), std::to_string(quantity)},
                            at);
    };
    Nanos at = 0;
    for (int i = 0; i < 20; ++i) {
      at += *rc::gen::inRange<std::int64_t>(0, 3'000'000'000);
      const auto quantity = *rc::gen::inRange<std::int64_t>(0, burst + 3);
      const Reply reply = decide(quantity, at);
      RC_ASSERT(reply[1] == burst + 1);
      if (quantity > burst + 1) {
        RC_ASSERT(reply[0] == 1 && reply[3] == -1);
      } else if (reply[0] == 1) {
        RC_ASSERT(reply[2] < quantity);
        RC_ASSERT(reply[3] >= 1 && reply[3] <= reply[4]);
        at += reply[3] * second;
        RC_ASSERT(decide(quantity, at)[0] == 0);
      } else {
        RC_ASSERT(reply[3] == -1);
      }
      // Exactly the remaining units are available now.
      const std::int64_t left = decide(0, at)[2];
      RC_ASSERT(decide(left, at)[0] == 0);
      RC_ASSERT(decide(1, at)[0] == 1);
      // At the reset the whole capacity is available.
      at += decide(0, at)[4] * second;
      RC_ASSERT(decide(0, at) == (Reply{0, burst + 1, burst + 1, -1, 0}));
    }
  }));
}

TEST(ClThrottle, GivesBackANegativeQuantity) {
  Throttles throttles;
  throttles.cell({"k", "4", "1", "1", "5"});
  EXPECT_THAT(throttles.cell({"k", "4", "1", "1", "-2"}), ElementsAre(0, 5, 2, -1, 3));
  EXPECT_THAT(throttles.cell({"k", "4", "1", "1", "-9223372036854775808"}),
              ElementsAre(0, 5, 5, -1, 0));
}

TEST(ClThrottle, KeepsAKeysStateWhenItsLimitChanges) {
  Throttles throttles;
  throttles.cell({"k", "4", "1", "1", "3"});
  // 3 s until it is full, whatever the limit.
  EXPECT_THAT(throttles.cell({"k", "9", "1", "1", "0"}), ElementsAre(0, 10, 7, -1, 3));
  EXPECT_THAT(throttles.cell({"k", "9", "2", "1", "0"}), ElementsAre(0, 10, 4, -1, 3));
  EXPECT_THAT(throttles.cell({"k", "0", "1", "3", "0"}), ElementsAre(0, 1, 0, -1, 3));
}

TEST(ClThrottle, HandlesBigNumbers) {
  Throttles throttles;
  EXPECT_THAT(throttles.cell({"a", "999999999999998", "999999999999999", "1000000"}),
              ElementsAre(0, 999999999999999, 999999999999998, -1, 1));
  // One unit per year, a thousand units.
  EXPECT_THAT(throttles.cell({"b", "999", "1", "31536000", "1000"}),
              ElementsAre(0, 1000, 0, -1, 31536000000));
  EXPECT_THAT(throttles.cell({"b", "999", "1", "31536000"}),
              ElementsAre(1, 1000, 0, 31536000, 31536000000));
  EXPECT_EQ(throttles.error, "");
}

TEST(ClThrottle, NamesTheFault) {
  const auto error = [](const Words& arguments) {
    Throttles throttles;
    throttles.cell(arguments);
    return throttles.error;
  };
  constexpr char most[] = "9223372036854775807";
  EXPECT_EQ(error({"k", "x", "1", "1"}), "ERR Couldn't parse as integer: x");
  EXPECT_EQ(error({"k", "1", "1.5", "1"}), "ERR Couldn't parse as integer: 1.5");
  EXPECT_EQ(error({"k", "1", "1", "9223372036854775808"}),
            "ERR Couldn't parse as integer: 9223372036854775808");
  EXPECT_EQ(error({"k", "1", "1", "1", ""}), "ERR Couldn't parse as integer: ");
  EXPECT_EQ(error({"k", "1", "0", "1"}), "Zero rates are not supported");
  EXPECT_EQ(error({"k", "1", "1", "0"}), "Zero rates are not supported");
  EXPECT_EQ(error({"k", "1", "-1", "1"}), "Negative rates are not supported");
  EXPECT_THAT(error({"k", "-1", "1", "1"}), HasSubstr("max_burst is out of range"));
  EXPECT_THAT(error({"k", most, "1", "1"}), HasSubstr("max_burst is out of range"));
  EXPECT_THAT(error({"k", "999999999999999", "1", "1"}), HasSubstr("max_burst is out of range"));
  EXPECT_THAT(error({"k", "1", "1", most}), HasSubstr("period is out of range"));
  EXPECT_THAT(error({"k", "999999999999998", "1", "2"}), HasSubstr("period is out of range"));
  EXPECT_THAT(error({"k", "1", "1000000001", "1"}), HasSubstr("More than one unit a nanosecond"));
}

// allowed, limit, remaining, reset_after, retry_after
TEST(Throttle, HasTheShapeOfThrottlecrab) {
  Throttles throttles;
  EXPECT_THAT(throttles.crab({"k", "2", "1", "2"}), ElementsAre(1, 2, 1, 2, 0));
  EXPECT_THAT(throttles.crab({"k", "2", "1", "2"}), ElementsAre(1, 2, 0, 4, 0));
  EXPECT_THAT(throttles.crab({"k", "2", "1", "2"}), ElementsAre(0, 2, 0, 4, 2));
  EXPECT_THAT(throttles.crab({"k", "2", "1", "2", "0"}, 1400 * ms), ElementsAre(1, 2, 0, 3, 0));
  // throttlecrab would say 0 here, and the client would be denied again.
  EXPECT_THAT(throttles.crab({"k", "2", "1", "2"}, 1400 * ms), ElementsAre(0, 2, 0, 3, 1));
  EXPECT_THAT(throttles.crab({"k", "2", "1", "2", "3"}), ElementsAre(0, 2, 0, 4, -1));
}

// throttlecrab admits 17 at once here.
TEST(Throttle, AdmitsNoMoreThanTheBurstAtOnce) {
  Throttles throttles;
  throttles.crab({"k", "10", "100", "60"});
  int admitted = 0;
  for (int i = 0; i < 30; ++i) {
    admitted += static_cast<int>(throttles.crab({"k", "10", "100", "60"}, 5300 * ms)[0]);
  }
  EXPECT_EQ(admitted, 10);
}

TEST(Throttle, NamesTheFault) {
  const auto error = [](const Words& arguments) {
    Throttles throttles;
    throttles.crab(arguments);
    return throttles.error;
  };
  EXPECT_EQ(error({"k", "x", "1", "1"}), "ERR invalid max_burst");
  EXPECT_EQ(error({"k", "1", "x", "1"}), "ERR invalid count_per_period");
  EXPECT_EQ(error({"k", "1", "1", "x"}), "ERR invalid period");
  EXPECT_EQ(error({"k", "1", "1", "1", "x"}), "ERR invalid quantity");
  EXPECT_EQ(error({"k", "1", "1", "1", "-1"}), "ERR invalid quantity");
  EXPECT_THAT(error({"k", "0", "1", "1"}), HasSubstr("max_burst is out of range"));
}

}  // namespace
}  // namespace headgate::redis
