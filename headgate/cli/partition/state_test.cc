#include "headgate/cli/partition/state.h"

#include <gtest/gtest.h>

namespace headgate::cli {
namespace {

constexpr std::time_t noon = 1'769'860'800;  // 2026-01-31 12:00:00 UTC

std::string words(const std::string& changes) {
  const auto state = PartitionState::parse(
      R"({"policy":"burst","key":"10.0.0.2","limited":true,"enforced":true,"override":false,)"
      R"("quota":100,"unit":"requests","window_ns":60000000000,"admitted":true,"r":97,"reset":59,)"
      R"("wait":0,"wait_ns":0,"full":2,"full_ns":1800000000,"outage":false)" +
      changes + "}");
  return state ? state->words(noon) : state.error();
}

TEST(PartitionState, SaysWhatIsLeftAndWhenItIsFullAgain) {
  EXPECT_EQ(words(""),
            "burst, key 10.0.0.2: admits; 97 of 100 requests per 1m left, full again in 2 s");
  EXPECT_EQ(words(R"(,"full":0,"r":100,"override":true)"),
            "burst, key 10.0.0.2: admits; 100 of 100 requests per 1m left (an override)");
}

TEST(PartitionState, SaysUntilWhenItDenies) {
  EXPECT_EQ(words(R"(,"admitted":false,"r":0,"wait":12,"full":60)"),
            "burst, key 10.0.0.2: denies for 12 s more, until 2026-01-31 12:00:12 UTC; 0 of 100 "
            "requests per 1m left, full again in 60 s");
  EXPECT_EQ(words(R"(,"admitted":false,"enforced":false,"r":0,"wait":12,"full":60)").substr(0, 60),
            "burst, key 10.0.0.2: would deny, but is in shadow mode, for ");
  EXPECT_EQ(words(R"(,"admitted":false,"quota":0,"r":0,"wait":null,"full":0)"),
            "burst, key 10.0.0.2: denies always: the quota is 0; 0 of 0 requests per 1m left");
  EXPECT_EQ(words(R"(,"admitted":false,"window_ns":null,"r":0,"wait":null,"full":null)"),
            "burst, key 10.0.0.2: denies until a request of this key has ended; 0 of 100 requests "
            "at the same time left");
}

TEST(PartitionState, SaysHowLongARequestWaits) {
  EXPECT_EQ(words(R"(,"r":0,"wait":2,"full":2)"),
            "burst, key 10.0.0.2: a request waits 2 s, then passes; 0 of 100 requests per 1m left, "
            "full again in 2 s");
}

TEST(PartitionState, SaysWhatWasDeniedLast) {
  EXPECT_EQ(words(R"(,"last_denial":null)").find("last"), std::string::npos);
  EXPECT_EQ(
      words(R"(,"last_denial":{"ago":12,"enforced":true,"cost":5,"r":2,"quota":50,"wait":3})"),
      "burst, key 10.0.0.2: admits; 97 of 100 requests per 1m left, full again in 2 s; last denied "
      "12 s ago: cost 5, 2 of 50 requests left, a wait of 3 s");
  EXPECT_TRUE(
      words(R"(,"last_denial":{"ago":0,"enforced":false,"cost":1,"r":0,"quota":0,"wait":null})")
          .ends_with("; last denied in shadow mode 0 s ago: cost 1, 0 of 0 requests left"));
}

TEST(PartitionState, SaysWhatIsNotKnown) {
  EXPECT_EQ(words(R"(,"limited":false,"quota":null,"r":null,"window_ns":null)"),
            "burst, key 10.0.0.2: not limited; the policy is off, or this key is unlimited");
  EXPECT_EQ(
      words(R"(,"outage":true,"r":0)"),
      "burst, key 10.0.0.2: Redis is away, so what is left of 100 requests per 1m is not known");
  EXPECT_EQ(words(R"(,"key":"\u001b[31m")").substr(0, 18), R"(burst, key \x1b[31)");
  EXPECT_EQ(PartitionState::parse("{}").error(), "not what headgate answers");
}

}  // namespace
}  // namespace headgate::cli
