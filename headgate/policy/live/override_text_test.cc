#include "headgate/policy/live/override_text.h"

#include <gtest/gtest.h>

#include "headgate/limit/quota.h"

namespace headgate::policy {
namespace {

constexpr std::uint64_t now = 1'769'860'800;

std::string fault(std::string_view text) {
  const auto read = read_override(text, now);
  return read ? "" : std::to_string(read.error().at) + ": " + read.error().what;
}

TEST(OverrideText, WhatIsWrittenIsRead) {
  const std::vector<LiveOverride> all = {
      {"burst", "10.0.0.2", 50, 60 * nanos_per_second, now, now + 7200, "127.0.0.1:1",
       "d\"\xc3\xa9"},
      {"burst", "", std::nullopt, std::nullopt, now, std::nullopt, "", ""},
      {"long", "\x01", limit::Quota::units_max, limit::Quota::window_max, 0, 0, "", ""},
      {"short", "a,b", 0, 1, 0, 1, "", ""}};
  const auto read = read_override_file(override_file_text(all));
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(*read, all);
  EXPECT_TRUE(read_override_file(override_file_text({}))->empty());
}

TEST(OverrideText, AFileThatIsCutAnywhereIsAFault) {
  const std::string whole = override_file_text({{"burst", "10.0.0.2", 0}});
  for (std::size_t size = 0; size + 1 < whole.size(); ++size) {  // the last byte is a line end
    EXPECT_FALSE(read_override_file(whole.substr(0, size))) << size;
  }
  EXPECT_EQ(read_override_file("").error().what,
            "the file is empty; expected {\"overrides\":[]}, or no file");
}

TEST(OverrideText, AnOverrideIsReadAsItIsGiven) {
  const auto full =
      read_override(R"({"quota": 50, "window": "1m", "for": "2h", "reason": "demo"})", now);
  ASSERT_TRUE(full) << full.error().what;
  EXPECT_EQ(*full, (LiveOverride{"", "", 50, 60 * nanos_per_second, now, now + 7200, "", "demo"}));
  const auto least = read_override(R"({"quota": "unlimited"})", now);
  ASSERT_TRUE(least);
  EXPECT_EQ(*least, (LiveOverride{.policy = "", .key = "", .since = now}));
  EXPECT_EQ(read_override(R"({"quota": 1, "for": "1ms"})", now)->until, now + 1)
      << "ends no earlier than it says";
}

TEST(OverrideText, FaultsSayWhereAndWhatWasExpected) {
  EXPECT_EQ(fault("{}"), "0: 'quota' is missing: a number of units, or \"unlimited\"");
  EXPECT_EQ(fault(R"({"quota": -1})"),
            "10: expected a quota of 0 to 999999999999999 units, or \"unlimited\"");
  EXPECT_EQ(fault(R"({"quota": "none"})").substr(0, 21), "10: expected a quota ");
  EXPECT_EQ(fault(R"({"quota": 1, "qouta": 2})"),
            "13: unknown member 'qouta'; did you mean 'quota'?");
  EXPECT_EQ(fault(R"({"quota": 1, "quota": 2})"), "13: 'quota' is given twice");
  EXPECT_EQ(fault(R"({"quota": 1, "for": "soon"})").substr(0, 34),
            "20: for 'soon' is not a duration; ");
  EXPECT_EQ(fault(R"({"quota": 1, "by": "me"})"),
            "13: unknown member 'by'; expected quota, window, for or reason");
  EXPECT_EQ(fault(R"({"quota": 1, "reason": ")" + std::string(201, 'x') + "\"}"),
            "23: reason has 201 bytes; expected at most 200");
  EXPECT_EQ(fault(R"({"quota": 1)").substr(0, 4), "11: ");
  EXPECT_FALSE(read_override_file(R"({"overrides": [{"policy": "a"}]})"));
  EXPECT_FALSE(read_override_file("quota"));
}

}  // namespace
}  // namespace headgate::policy
