#include "headgate/sim/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace headgate::sim {
namespace {

using Json = nlohmann::json;

class SummaryTest : public ::testing::Test {
 protected:
  SummaryTest() : policies_(2), summary_(policies_) {
    policies_[0].name = "burst";
    policies_[1].name = "daily";
    policies_[1].index = 1;
    grant_.quota = {100, Nanos{10}};
  }

  void spend(std::string_view key, Nanos at, std::uint64_t cost, bool taken = true) {
    summary_.saw({at});
    summary_.count_request(taken);
    summary_.count(policies_[0], grant_, key, cost, {at}, taken, {}, 0);
  }
  std::uint64_t peak() const {
    return Json::parse(summary_.json())["policies"][0]["peak_window_units"].get<std::uint64_t>();
  }

  std::vector<policy::Policy> policies_;
  policy::Grant grant_;
  Summary summary_;
};

TEST_F(SummaryTest, ThePeakIsTheBusiestHalfOpenWindowOfOnePartition) {
  spend("a", 0, 5);
  spend("a", 9, 2);
  EXPECT_EQ(peak(), 7u);
  spend("a", 10, 1);  // [0, 10) holds 7, [9, 19) holds 3
  EXPECT_EQ(peak(), 7u);
  spend("a", 18, 5);  // [9, 19)
  EXPECT_EQ(peak(), 8u);
  spend("b", 18, 7);  // another partition
  EXPECT_EQ(peak(), 8u);
  spend("a", 15, 100, false);
  EXPECT_EQ(peak(), 8u);
}

TEST_F(SummaryTest, ThePeakDoesNotDependOnTheOrderOfTime) {
  for (const int at : {30, 3, 12, 7, 25, 5, 12}) spend("a", at, 1);
  EXPECT_EQ(peak(), 5u);  // 3 5 7 12 12
}

TEST_F(SummaryTest, ThePeakSaturatesInsteadOfWrapping) {
  spend("a", 0, ~std::uint64_t{0});
  spend("a", 0, ~std::uint64_t{0});
  EXPECT_EQ(peak(), ~std::uint64_t{0});
}

TEST_F(SummaryTest, ReportsEveryPolicyAndTheMostDeniedFirst) {
  spend("b", 0, 1, false);
  spend("a", 0, 1, false);
  spend("c", 1'500'000'000, 1, false);
  spend("c", 1'500'000'000, 1, false);
  spend("c", 1'500'000'000, 1);
  spend("never denied", 0, 1);
  summary_.skip();
  EXPECT_EQ(Json::parse(summary_.json()), Json::parse(R"({
    "requests": 6, "skipped": 1, "span_s": 1.5, "admitted": 2, "denied": 4,
    "policies": [{"name": "burst", "partitions": 4, "admitted": 2, "denied": 4,
                  "peak_window_units": 1, "top_denied": [
                    {"key": "c", "denied": 2, "admitted": 1},
                    {"key": "a", "denied": 1, "admitted": 0},
                    {"key": "b", "denied": 1, "admitted": 0}]},
                 {"name": "daily", "partitions": 0, "admitted": 0, "denied": 0,
                  "peak_window_units": 0, "top_denied": []}]})"));
}

TEST_F(SummaryTest, TopDeniedIsBounded) {
  for (int i = 0; i < 25; ++i) spend(std::to_string(i), 0, 1, false);
  EXPECT_EQ(Json::parse(summary_.json())["policies"][0]["top_denied"].size(), top_denied_max);
}

}  // namespace
}  // namespace headgate::sim
