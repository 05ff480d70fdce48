#include "headgate/base/whole_number.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

namespace headgate {
namespace {

TEST(WholeNumberTest, ReadsEveryValueOfItsType) {
  EXPECT_EQ(whole_number<std::uint16_t>("0"), 0);
  EXPECT_EQ(whole_number<std::uint16_t>("65535"), 65535);
  constexpr auto least = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(whole_number<std::int64_t>(std::to_string(least)), least);
}

TEST(WholeNumberTest, RefusesWhatIsBeyondItsType) {
  EXPECT_EQ(whole_number<std::uint16_t>("65536"), std::nullopt);
  EXPECT_EQ(whole_number<std::uint16_t>("-1"), std::nullopt);
  EXPECT_EQ(whole_number<std::int64_t>("9223372036854775808"), std::nullopt);
}

TEST(WholeNumberTest, RefusesWhatIsNotOnlyDigits) {
  for (const char* text : {"", "-", "+1", " 1", "1 ", "1x", "0x1", "1.0", "--1"}) {
    EXPECT_EQ(whole_number<std::int64_t>(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace headgate
