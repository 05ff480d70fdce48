#include "headgate/policy/quantity.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace headgate::policy {
namespace {

constexpr Nanos second = nanos_per_second;

TEST(Duration, InEveryUnit) {
  struct Case {
    std::string_view text;
    Nanos ns;
  };
  const Case cases[] = {{"60", 60 * second},
                        {"60s", 60 * second},
                        {"250ms", 250'000'000},
                        {"1m", 60 * second},
                        {"1h", 3600 * second},
                        {"1d", 86'400 * second},
                        {"1w", 604'800 * second},
                        {"1ns", 1},
                        {"7us", 7'000},
                        {"0060s", 60 * second},
                        {"999999999999999", limit::Quota::window_max},
                        {"999999999999999000000000ns", limit::Quota::window_max},
                        {"999999999999999000000us", limit::Quota::window_max},
                        {"0000000000000000000000000000000000000000001s", second},
                        {"11574074074d", 11'574'074'074 * 86'400 * second}};
  for (const Case& c : cases) {
    const auto parsed = parse_duration(c.text);
    ASSERT_TRUE(parsed) << c.text << " " << parsed.error();
    EXPECT_TRUE(*parsed == c.ns) << c.text;
  }
}

TEST(Duration, OutOfRange) {
  for (const std::string_view text :
       {"0", "0s", "0ns", "1000000000000000", "999999999999999000000001ns", "1653439153439w",
        "99999999999999999999999999999999999999999999999999w",
        "340282366920938463463374607431768211457ns"}) {
    const auto parsed = parse_duration(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error(), "is out of range; expected 1ns to 999999999999999s") << text;
  }
}

TEST(Duration, NotADuration) {
  for (const std::string_view text : {"", "s", "1.5s", "-1s", "+1s", "1 s", "1S", "1y", "1mo",
                                      "1min", "1h30m", "1e3", " 1s", "1s ", "0x10", "one"}) {
    const auto parsed = parse_duration(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_TRUE(parsed.error().starts_with("is not a duration")) << text;
  }
}

TEST(Rate, Spellings) {
  struct Case {
    std::string_view text;
    std::uint64_t units;
    Nanos window;
  };
  const Case cases[] = {{"100/minute", 100, 60 * second},
                        {"10 per 2 hours", 10, 7200 * second},
                        {"10 per hour", 10, 3600 * second},
                        {"5/250ms", 5, 250'000'000},
                        {"5 / 250 ms", 5, 250'000'000},
                        {" 5 / 3 minutes ", 5, 180 * second},
                        {"1/s", 1, second},
                        {"1/2w", 1, 2 * 604'800 * second},
                        {"0/day", 0, 86'400 * second},
                        {"3 per 10 nanoseconds", 3, 10},
                        {"1 / Second", 1, second},
                        {"10 PER 2 Minutes", 10, 120 * second},
                        {"10per2minutes", 10, 120 * second},
                        {"100perminute", 100, 60 * second},
                        {"10  per\thour", 10, 3600 * second},
                        {"5/month", 5, 30 * 86'400 * second},
                        {"1000 per 2 years", 1000, 2 * 360 * 86'400 * second},
                        {"999999999999999/1 second", 999'999'999'999'999, second}};
  for (const Case& c : cases) {
    const auto parsed = parse_rate(c.text);
    ASSERT_TRUE(parsed) << c.text << " " << parsed.error();
    EXPECT_EQ(parsed->units, c.units) << c.text;
    EXPECT_TRUE(parsed->window == c.window) << c.text;
  }
}

TEST(Rate, Refused) {
  for (const std::string_view text :
       {"", "100", "100/", "/minute", "100/decade", "100 minute", "100 pe minute", "1.5/s", "-1/s",
        "100//s", "100/s/s", "100/minutess", "a/s", "100/S", "100/2", "100 per", "100/per s"}) {
    const auto parsed = parse_rate(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_TRUE(parsed.error().starts_with("is not a rate")) << text;
  }
  for (const std::string_view text : {"1000000000000000/s", "1/0s", "1/1000000000000000s"}) {
    const auto parsed = parse_rate(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_TRUE(parsed.error().starts_with("is out of range")) << text;
  }
}

TEST(CalendarRate, OneDayWeekOrMonth) {
  using limit::CalendarUnit;
  struct Case {
    std::string_view text;
    std::uint64_t units;
    CalendarUnit per;
  };
  const Case cases[] = {{"5000/month", 5000, CalendarUnit::month},
                        {"1 per 1 Month", 1, CalendarUnit::month},
                        {"0/day", 0, CalendarUnit::day},
                        {"7 / d", 7, CalendarUnit::day},
                        {"999999999999999 per weeks", 999'999'999'999'999, CalendarUnit::week}};
  for (const Case& c : cases) {
    const auto parsed = parse_calendar_rate(c.text);
    ASSERT_TRUE(parsed) << c.text << " " << parsed.error();
    EXPECT_EQ(parsed->units, c.units) << c.text;
    EXPECT_EQ(parsed->per, c.per) << c.text;
  }
  for (const std::string_view text :
       {"", "5000", "5/hour", "5/2 days", "5/0day", "5/24h", "5/year", "5 day"}) {
    EXPECT_EQ(parse_calendar_rate(text).error(),
              "is not a rate per day, week or month; expected one like 5000/month")
        << text;
  }
  EXPECT_EQ(parse_calendar_rate("1000000000000000/day").error(),
            "is out of range; expected 0 to 999999999999999 units");
}

TEST(Size, UnitsAndRange) {
  constexpr std::uint64_t min = 64 << 10;
  constexpr std::uint64_t max = std::uint64_t{1} << 40;
  EXPECT_EQ(parse_size("65536", min, max).value(), 65536U);
  EXPECT_EQ(parse_size("64KiB", min, max).value(), 65536U);
  EXPECT_EQ(parse_size("64MiB", min, max).value(), std::uint64_t{64} << 20);
  EXPECT_EQ(parse_size("1024GiB", min, max).value(), max);
  for (const std::string_view text :
       {"65535", "0", "1025GiB", "99999999999999999999999999999999999GiB"}) {
    EXPECT_EQ(parse_size(text, min, max).error(), "is out of range; expected 64KiB to 1024GiB")
        << text;
  }
  for (const std::string_view text :
       {"", "64MB", "64M", "64 MiB", "64mib", "1.5GiB", "MiB", "-1"}) {
    EXPECT_TRUE(parse_size(text, min, max).error().starts_with("is not a size")) << text;
  }
}

TEST(Percent, Range) {
  EXPECT_EQ(parse_percent("0%", 50).value(), 0U);
  EXPECT_EQ(parse_percent("50%", 50).value(), 50U);
  EXPECT_EQ(parse_percent("51%", 50).error(), "is out of range; expected 0% to 50%");
  for (const std::string_view text : {"", "%", "5", "5 %", "5%%", "-5%", "0.5%"}) {
    EXPECT_EQ(parse_percent(text, 50).error(), "is not a percentage; expected 0% to 50%") << text;
  }
}

TEST(Bucket, HasItsExactRateAndTheWindowInWhichItFills) {
  using limit::Quota;
  EXPECT_EQ(bucket_quota(80, 40, second).value(), (Quota{80, 2 * second}));
  EXPECT_EQ(bucket_quota(300, 300, 3 * 3600 * second).value(), (Quota{300, 3 * 3600 * second}));
  EXPECT_EQ(bucket_quota(999'999'999'999'999, 1, second).value(),
            (Quota{999'999'999'999'999, Quota::window_max}));
  // Not a whole number of seconds.
  EXPECT_EQ(bucket_quota(20, 40, second).value(), (Quota{20, second / 2, 40, second}));
  EXPECT_EQ(bucket_quota(5, 120, 60 * second).value(),
            (Quota{5, 5 * second / 2, 120, 60 * second}));
  // Not a whole number of nanoseconds: the window is rounded up, the rate is not.
  EXPECT_EQ(bucket_quota(1, 3, second).value(), (Quota{1, 333'333'334, 3, second}));
  EXPECT_EQ(bucket_quota(1, 3, 1).value(), (Quota{1, 1, 3, 1}));
  EXPECT_FALSE(bucket_quota(999'999'999'999'999, 1, second + 1));
  EXPECT_FALSE(bucket_quota(999'999'999'999'999, 1, limit::Quota::window_max));
}

}  // namespace
}  // namespace headgate::policy
