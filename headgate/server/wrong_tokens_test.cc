#include "headgate/server/wrong_tokens.h"

#include <gtest/gtest.h>

namespace headgate::server {
namespace {

using std::chrono::milliseconds;

class WrongTokensTest : public testing::Test {
 protected:
  static constexpr int no_socket = -1;

  Credentials credentials_;
  DecisionStats stats_;
  WrongTokens wrong_tokens_{DoorKind::resp, credentials_, stats_, std::chrono::seconds(10)};
  const WrongTokens::Clock::time_point now_ = WrongTokens::Clock::now();
};

TEST_F(WrongTokensTest, EachOneOfAConnectionWaitsLongerAndTheTenthIsTheLast) {
  auto now = now_;
  auto before = milliseconds(0);
  for (unsigned nth = 1; nth <= 10; ++nth) {
    const auto answer = wrong_tokens_.count(nth, no_socket, now);
    ASSERT_TRUE(answer);
    EXPECT_GT(answer->at - now, before);
    EXPECT_EQ(answer->is_last, nth == 10);
    before = std::chrono::duration_cast<milliseconds>(answer->at - now);
    now = answer->at;
  }
}

TEST_F(WrongTokensTest, ManyConnectionsAreAnsweredOneByOneOrNotAtAll) {
  auto last = now_;
  unsigned answered = 0;
  for (int connection = 0; connection < 100'000; ++connection) {
    const auto answer = wrong_tokens_.count(1, no_socket, now_);
    if (!answer) continue;
    EXPECT_GE(answer->at, last + milliseconds(answered == 0 ? 0 : 10));
    last = answer->at;
    ++answered;
  }
  EXPECT_GT(answered, 900u);
  EXPECT_LE(answered, 1000u);
  EXPECT_LE(last, now_ + std::chrono::seconds(10));
  EXPECT_TRUE(wrong_tokens_.count(1, no_socket, now_ + std::chrono::seconds(1)));
}

TEST_F(WrongTokensTest, AllAreCounted) {
  for (unsigned nth = 1; nth <= 3; ++nth) {
    EXPECT_TRUE(wrong_tokens_.count(nth, no_socket, now_));
  }
  DecisionStats::DoorTotals totals;
  stats_.add_to(totals, DoorKind::resp);
  EXPECT_EQ(totals.wrong_tokens, 3u);
  EXPECT_EQ(credentials_.take_wrong_tokens().count, 3u);
  EXPECT_EQ(credentials_.take_wrong_tokens().count, 0u);
}

}  // namespace
}  // namespace headgate::server
