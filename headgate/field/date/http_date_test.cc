#include "headgate/field/date/http_date.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <ctime>
#include <limits>
#include <string>

#include "headgate/field/retry_after.h"

namespace headgate::field {
namespace {

constexpr std::int64_t example = 784111777;  // the example of RFC 9110

std::string imf(std::int64_t seconds) {
  std::array<char, 29> room{};
  Writer out(room);
  EXPECT_TRUE(write_http_date(out, seconds));
  return std::string(out.text());
}

// The C library's opinion, in one of the three forms.
std::string by_strftime(const char* format, std::int64_t seconds) {
  const std::time_t time = seconds;
  std::tm parts{};
  gmtime_r(&time, &parts);
  std::array<char, 64> room{};
  return {room.data(), std::strftime(room.data(), room.size(), format, &parts)};
}

TEST(HttpDate, ReadsTheThreeForms) {
  for (const char* text : {"Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
                           "Sun Nov  6 08:49:37 1994", " \tSun, 06 Nov 1994 08:49:37 GMT "}) {
    EXPECT_EQ(parse_http_date(text), example) << text;
  }
  EXPECT_EQ(imf(example), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(parse_http_date("Sat, 31 Dec 2016 23:59:60 GMT"),
            parse_http_date("Sun, 01 Jan 2017 00:00:00 GMT"));
  EXPECT_EQ(parse_http_date("Thu, 29 Feb 2024 00:00:00 GMT"), 1709164800);
}

TEST(HttpDate, RefusesEverythingElse) {
  for (const char* text : {"",
                           "0",
                           "Sun",
                           "sun, 06 Nov 1994 08:49:37 GMT",
                           "Sun, 6 Nov 1994 08:49:37 GMT",
                           "Sun, 06 Nov 1994 08:49:37 UTC",
                           "Sun, 06 Nov 1994 08:49:37",
                           "Sun, 06 Nov 94 08:49:37 GMT",
                           "Sun, 06 Nov 1994 08:49:37 GMT x",
                           "Sun, 06 Nov 1994 24:00:00 GMT",
                           "Sun, 06 Nov 1994 08:60:37 GMT",
                           "Sun, 06 Nov 1994 08:49:61 GMT",
                           "Sun, 00 Nov 1994 08:49:37 GMT",
                           "Sun, 31 Nov 1994 08:49:37 GMT",
                           "Wed, 29 Feb 2023 00:00:00 GMT",
                           "Thu, 29 Feb 1900 00:00:00 GMT",
                           "Sun, 06 nov 1994 08:49:37 GMT",
                           "Sun Nov 06 08:49:37 94",
                           "Sun Nov 6 08:49:37 1994",
                           "Sunday, 06-Nov-1994 08:49:37 GMT",
                           "Sun, 06 Nov -994 08:49:37 GMT"}) {
    EXPECT_EQ(parse_http_date(text), std::nullopt) << text;
  }
}

TEST(HttpDate, ATwoDigitYearIsAtMostFiftyYearsAhead) {
  const auto year = [](const char* near, const char* two_digits) {
    const auto then = parse_http_date("Monday, 02-Jul-" + std::string(two_digits) + " 12:00:00 GMT",
                                      parse_http_date(near).value());
    return imf(then.value()).substr(12, 4);
  };
  EXPECT_EQ(year("Mon, 01 Jan 2024 00:00:00 GMT", "24"), "2024");
  EXPECT_EQ(year("Mon, 01 Jan 2024 00:00:00 GMT", "73"), "2073");
  EXPECT_EQ(year("Mon, 01 Jan 2024 00:00:00 GMT", "74"), "1974");
  EXPECT_EQ(year("Tue, 31 Dec 2024 00:00:00 GMT", "74"), "2074");
  EXPECT_EQ(year("Tue, 31 Dec 2024 00:00:00 GMT", "75"), "1975");
  EXPECT_EQ(year("Mon, 01 Jan 1990 00:00:00 GMT", "10"), "2010");
  for (const auto near :
       {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}) {
    EXPECT_TRUE(parse_http_date("Sunday, 06-Nov-94 08:49:37 GMT", near).has_value());
  }
}

RC_GTEST_PROP(HttpDate, AgreesWithTheCLibrary, ()) {
  const auto seconds = *rc::gen::inRange<std::int64_t>(-30'000'000'000, 253'402'300'799);
  const std::string text = imf(seconds);
  RC_ASSERT(text == by_strftime("%a, %d %b %Y %H:%M:%S GMT", seconds));
  RC_ASSERT(parse_http_date(text) == seconds);
  RC_ASSERT(parse_http_date(by_strftime("%A, %d-%b-%y %H:%M:%S GMT", seconds), seconds) == seconds);
  RC_ASSERT(parse_http_date(by_strftime("%a %b %e %H:%M:%S %Y", seconds)) == seconds);
}

TEST(HttpDate, WritesWholeDatesOfFourDigitYearsOnly) {
  std::array<char, 29> room{};
  Writer out{std::span(room).first(28)};
  EXPECT_FALSE(write_http_date(out, example));
  EXPECT_EQ(out.text(), "");
  EXPECT_EQ(imf(-62167219200), "Sat, 01 Jan 0000 00:00:00 GMT");
  EXPECT_EQ(imf(253402300799), "Fri, 31 Dec 9999 23:59:59 GMT");
  for (const std::int64_t beyond :
       {std::int64_t{-62167219201}, std::int64_t{253402300800},
        std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}) {
    Writer whole(room);
    EXPECT_FALSE(write_http_date(whole, beyond));
    EXPECT_EQ(whole.text(), "");
  }
}

TEST(RetryAfter, IsSecondsOrADateLessItsBase) {
  EXPECT_EQ(parse_retry_after("120", {}), 120u);
  EXPECT_EQ(parse_retry_after(" 007\t", {}), 7u);
  EXPECT_EQ(parse_retry_after(std::string(1000, '9'), {}), 999'999'999'999'999u);
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:49:37 GMT", example - 3), 3u);
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:49:37 GMT", example + 3), 0u);
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:49:37 GMT", {}), std::nullopt);
  EXPECT_EQ(
      parse_retry_after("Sun, 06 Nov 1994 08:49:37 GMT", std::numeric_limits<std::int64_t>::min()),
      999'999'999'999'999u);
  for (const char* text : {"", " ", "-1", "+1", "1.5", "5s", "1 2", "0x1", "soon"}) {
    EXPECT_EQ(parse_retry_after(text, example), std::nullopt) << text;
  }
}

TEST(RetryAfter, IsWrittenWholeOrNotAtAll) {
  std::array<char, 15> room{};
  Writer out(room);
  EXPECT_TRUE(write_retry_after(out, ~0ull));
  EXPECT_EQ(out.text(), "999999999999999");
  Writer full{std::span(room).first(2)};
  EXPECT_FALSE(write_retry_after(full, 100));
  EXPECT_EQ(full.text(), "");
  EXPECT_FALSE(full.overflow());
}

}  // namespace
}  // namespace headgate::field
