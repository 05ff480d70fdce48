#include "headgate/cli/top/view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headgate::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TopReading reading(int rows) {
  TopReading made{true, 1234, 12.34, 0, {}, {}, {}, {}};
  for (int i = 0; i < rows; ++i) {
    made.busiest.push_back({"burst", "key-" + std::to_string(i), 100.0 / (i + 1), 100, 250, false});
    made.most_denied.push_back(
        {"a-policy-with-a-long-name", std::string(300, 'k'), 5, 5, 0, false});
  }
  return made;
}

TEST(TopView, ShowsATablePerList) {
  TopReading made = reading(0);
  made.busiest.push_back({"burst", "10.0.0.2", 45678, 45678, 1.5e6, false});
  made.busiest.push_back({"daily", "", 0.125, 9, 0, true});
  made.busiest.push_back({"users", "", 0.1, 0.1, 0, false});
  EXPECT_THAT(top_lines(made), ElementsAre("requests 1234/s   denied 12.3/s (1.0 %)", "",
                                           "Busiest",                              //
                                           "     /s units/s  policy  key",         //
                                           "  45.7k   1.50M  burst   10.0.0.2",    //
                                           "  >0.12       0  daily   (everyone)",  //
                                           "   0.10       0  users   (no key)",    //
                                           "", "Most denied", "No client was denied lately."));
}

TEST(TopView, NamesThePoliciesThatWereSelected) {
  TopReading made = reading(1);
  made.policies = {"burst", "daily"};
  const auto lines = top_lines(made);
  EXPECT_EQ(lines[2], "Busiest of burst, daily");
  EXPECT_THAT(lines, testing::Contains("Most denied of burst, daily"));
}

// The widest figures, opaque keys and an IPv6 block.
TopReading crowded() {
  TopReading made{false, 45678, 45678, 45678, {}, {}, {}, {}};
  made.redis = {false, 45678};
  made.busiest.push_back({"api", ":oRG3AVLFs5Nh2ZHJ3nPpKg==:", 45678, 99999, 1.5e6, false});
  made.busiest.push_back(
      {"logins-per-account-per-hour", "2001:db8:1234:5678::/64", 0.125, 0.125, 9999, false});
  made.busiest.push_back({"api", std::string(110, 'k') + "...#1f0ac9d2", 1, 1, 1, false});
  return made;
}

TEST(TopView, CutsNothingImportantAt60Columns) {
  const auto lines = top_lines(crowded(), {60, 24});
  EXPECT_THAT(std::vector(lines.begin(), lines.begin() + 9),
              ElementsAre("requests 45.7k/s   denied 45.7k/s (100.0 %)",                   //
                          "in shadow 45.7k/s",                                             //
                          "Redis IS AWAY   decided without it 45.7k/s",                    //
                          "",                                                              //
                          "Busiest",                                                       //
                          "     /s units/s  policy           key",                         //
                          " >45.7k   1.50M  api              :oRG3AVLFs5Nh2ZHJ3nPpKg==:",  //
                          "   0.12    9999  logins-per-acc~  2001:db8:1234:5678::/64",     //
                          "   1.00    1.00  api              kkkkkkkkkkkkkkkk~#1f0ac9d2"));
}

TEST(TopView, ShowsMoreOfPoliciesAt80Columns) {
  const auto lines = top_lines(crowded(), {80, 24});
  EXPECT_EQ(lines[0], "requests 45.7k/s   denied 45.7k/s (100.0 %)   in shadow 45.7k/s");
  EXPECT_EQ(lines[6], "   0.12    9999  logins-per-account-per-hour  2001:db8:1234:5678::/64");
  EXPECT_EQ(lines[7].size(), 80u);
  EXPECT_THAT(lines[7], testing::EndsWith("kkk~#1f0ac9d2"));
}

TEST(TopView, KeysAreWholeBesideEachOtherAt120Columns) {
  TopReading made = crowded();
  made.most_denied = made.busiest;
  const auto lines = top_lines(made, {120, 24});
  EXPECT_THAT(lines[4], testing::MatchesRegex(".* policy +key  .* policy +key"));
  for (const char* key : {":oRG3AVLFs5Nh2ZHJ3nPpKg==:", "2001:db8:1234:5678::/64"}) {
    const std::string line = lines[key[0] == ':' ? 5 : 6];
    EXPECT_LT(line.find(key), line.rfind(key)) << line;
  }
  for (const std::string& line : lines) EXPECT_LE(line.size(), 120u);
}

TEST(TopView, ShowsWhetherRedisAnswers) {
  TopReading made = reading(0);
  made.redis = {true, 0};
  EXPECT_EQ(top_lines(made)[1], "Redis answers   decided without it 0/s");
  made.redis = {false, 12.34};
  EXPECT_EQ(top_lines(made)[1], "Redis IS AWAY   decided without it 12.3/s");
}

TEST(TopView, FitsEveryScreen) {
  for (const int rows : {0, 1, 50}) {
    TopReading made = reading(rows);
    if (rows > 0) made.redis = {false, 1};
    for (std::size_t width = 1; width < 200; width += 7) {
      for (std::size_t height = 0; height < 60; height += 3) {
        const auto lines = top_lines(made, {width, height});
        ASSERT_LE(lines.size(), height);
        for (const std::string& line : lines) ASSERT_LE(line.size(), width) << line;
      }
    }
  }
}

TEST(TopView, ListsAreSideBySideOnWideScreens) {
  const auto lines = top_lines(reading(50), {140, 30});
  EXPECT_EQ(lines.size(), 30u);
  EXPECT_THAT(lines[2], HasSubstr("Busiest"));
  EXPECT_THAT(lines[2], HasSubstr("Most denied"));
  const auto narrow = top_lines(reading(50), {80, 30});
  EXPECT_THAT(narrow, testing::Contains("Most denied"));
}

TEST(ShortNumber, HasAboutThreeDigits) {
  EXPECT_EQ(short_number(0), "0");
  EXPECT_EQ(short_number(0.001), "0.00");
  EXPECT_EQ(short_number(1.234), "1.23");
  EXPECT_EQ(short_number(99.96), "100");
  EXPECT_EQ(short_number(1234), "1234");
  EXPECT_EQ(short_number(12345), "12.3k");
  EXPECT_EQ(short_number(999'600), "1.00M");
  EXPECT_EQ(short_number(2.5e9), "2.50G");
  EXPECT_EQ(short_number(1e30), "1.0e+30");
}

}  // namespace
}  // namespace headgate::cli
