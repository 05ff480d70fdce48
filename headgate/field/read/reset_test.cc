#include "headgate/field/read/reset.h"

#include <gtest/gtest.h>

#include <string>

#include "headgate/base/instant.h"
#include "headgate/field/date/go_duration.h"
#include "headgate/field/date/iso_date.h"
#include "headgate/field/read/plain_number.h"

namespace headgate::field {
namespace {

constexpr std::int64_t base = 1'700'000'000;  // Tue, 14 Nov 2023 22:13:20 GMT

struct Case {
  const char* value;
  ResetForm form;
  std::optional<std::uint64_t> seconds;
};

TEST(Reset, TheValueDecidesTheForm) {
  for (const Case& c : {
           Case{"47", ResetForm::seconds, 47},
           Case{" 0\t", ResetForm::seconds, 0},
           Case{"64.001", ResetForm::seconds, 65},
           Case{"999999999.999999999", ResetForm::seconds, 1'000'000'000},
           Case{"1000000000", ResetForm::unix_seconds, 0},
           Case{"1700000900", ResetForm::unix_seconds, 900},
           Case{"1700000900.5", ResetForm::unix_seconds, 901},
           Case{"999999999999", ResetForm::unix_seconds, 998'299'999'999},
           Case{"1000000000000", ResetForm::unix_milliseconds, 0},
           Case{"1700000000001", ResetForm::unix_milliseconds, 1},
           Case{"1700000001000", ResetForm::unix_milliseconds, 1},
           Case{"999999999999999999", ResetForm::unix_milliseconds, 999'998'300'000'000},
           Case{"6m0s", ResetForm::duration, 360},
           Case{"12ms", ResetForm::duration, 1},
           Case{"2023-11-14T22:14:20Z", ResetForm::iso_date, 60},
           Case{"2023-11-14 22:14:20.000000000001z", ResetForm::iso_date, 61},
           Case{"2023-11-14t23:14:20.0+0100", ResetForm::iso_date, 60},
           Case{"2023-11-14T21:14:20-01:00", ResetForm::iso_date, 60},
           Case{"Tue, 14 Nov 2023 22:14:00 GMT", ResetForm::http_date, 40},
           Case{"Tue Nov 14 22:13:00 2023", ResetForm::http_date, 0},
       }) {
    const Reset reset = parse_reset(c.value, base);
    EXPECT_EQ(reset.form, c.form) << c.value;
    EXPECT_EQ(reset.seconds, c.seconds) << c.value;

    const Reset clockless = parse_reset(c.value, {});
    const bool span = c.form == ResetForm::seconds || c.form == ResetForm::duration;
    EXPECT_EQ(clockless.form, c.form) << c.value;
    EXPECT_EQ(clockless.seconds, span ? c.seconds : std::nullopt) << c.value;
  }
}

TEST(Reset, AnythingElseIsUnknown) {
  for (const char* value : {"",
                            "soon",
                            "-1",
                            "+1",
                            "1e3",
                            "1.",
                            ".5",
                            "1,5",
                            "0x10",
                            "1 2",
                            "1234567890123456789",
                            "1.0123456789",
                            "5 s",
                            "s",
                            "5d",
                            "-5s",
                            "1m s",
                            "1m2",
                            "2023-11-14T22:14:20",
                            "2023-11-14",
                            "2023-02-29T00:00:00Z",
                            "2023-13-01T00:00:00Z",
                            "2023-11-14T24:00:00Z",
                            "2023-11-14T22:14:20.Z",
                            "2023-11-14T22:14:20+24:00",
                            "2023-11-14T22:14:20Z1",
                            "Tue Feb 16 2021 09:02:42 GMT+0100 (Central European Standard Time)"}) {
    EXPECT_EQ(parse_reset(value, base).form, ResetForm::unknown) << value;
  }
}

TEST(GoDuration, PartsAddUp) {
  EXPECT_EQ(parse_go_duration("1h30m"), 5400 * nanos_per_second);
  EXPECT_EQ(parse_go_duration("1m1m1ms1s"), 121 * nanos_per_second + 1'000'000);
  EXPECT_EQ(parse_go_duration("1.5s"), 3 * nanos_per_second / 2);
  EXPECT_EQ(parse_go_duration("1.s"), nanos_per_second);
  for (const char* us : {"1us", "1\xc2\xb5s", "1\xce\xbcs", "1\xb5s"}) {
    EXPECT_EQ(parse_go_duration(us), 1000) << us;
  }
}

TEST(GoDuration, IsReadAsGoReadsIt) {
  EXPECT_EQ(parse_go_duration(".5s"), nanos_per_second / 2);
  EXPECT_EQ(parse_go_duration("1m.5s"), 121 * nanos_per_second / 2);
  EXPECT_EQ(parse_go_duration("+1s"), nanos_per_second);
  EXPECT_EQ(parse_go_duration("+.5h1s"), 1801 * nanos_per_second);
  for (const char* text : {"", "+", "++1s", "+-1s", "-1s", "1m+1s", ".", ".s", "1..5s", "+s"}) {
    EXPECT_EQ(parse_go_duration(text), std::nullopt) << text;
  }
}

TEST(GoDuration, RoundsUpBelowANanosecond) {
  EXPECT_EQ(parse_go_duration("0.5ns"), 1);
  EXPECT_EQ(parse_go_duration("0.0000000000000000001h"), 1);
  EXPECT_EQ(parse_go_duration("0.0000000000000000000000000000001h"), 1);
  EXPECT_EQ(parse_go_duration("0.0000000000000000000000000000000h"), 0);
}

TEST(GoDuration, Saturates) {
  const std::string nines(65'536, '9');
  EXPECT_EQ(parse_reset(nines + "h", {}).seconds, field_integer_max);
  EXPECT_EQ(parse_reset(nines + "ns", {}).form, ResetForm::duration);
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "999999999999999999h";
  EXPECT_EQ(parse_reset(many, {}).seconds, field_integer_max);
}

TEST(PlainNumber, IsExact) {
  EXPECT_EQ(parse_plain_number("999999999999999999.999999999")->floor(), 999'999'999'999'999'999);
  EXPECT_EQ(parse_plain_number("598.9")->billionths, 598'900'000'000);
  EXPECT_EQ(parse_plain_number("007")->floor(), 7u);
}

TEST(IsoDate, LeapDaysAndLeapSeconds) {
  EXPECT_EQ(parse_iso_date("2024-02-29T00:00:00Z"), 1'709'164'800);
  EXPECT_EQ(parse_iso_date("2016-12-31T23:59:60Z"), parse_iso_date("2017-01-01T00:00:00Z"));
  EXPECT_EQ(parse_iso_date("1970-01-01T00:00:00Z"), 0);
}

}  // namespace
}  // namespace headgate::field
