#include "headgate/policy/calendar_of.h"

#include <gtest/gtest.h>

#include <string>

namespace headgate::policy {
namespace {

using limit::Calendar;
using limit::CalendarUnit;

// Expects the length of the window that contains this second.
void expect_minutes(const char* zone, CalendarUnit unit, std::int64_t second, int minutes) {
  const auto calendar = calendar_of(unit, zone);
  ASSERT_TRUE(calendar) << zone << ' ' << calendar.error();
  const Calendar::Window window = (*calendar)->window_at(Nanos{second} * nanos_per_second);
  EXPECT_EQ(static_cast<int>((window.end - window.begin) / nanos_per_second), minutes * 60)
      << zone << ' ' << second;
}

TEST(CalendarOf, DaysOnWhichClocksChange) {
  expect_minutes("Europe/Berlin", CalendarUnit::day, 1'711'879'200, 23 * 60);  // 2024-03-31
  expect_minutes("Europe/Berlin", CalendarUnit::day, 1'730'026'800, 25 * 60);  // 2024-10-27
  expect_minutes("Europe/Berlin", CalendarUnit::month, 1'730'026'800, (31 * 24 + 1) * 60);
  expect_minutes("America/New_York", CalendarUnit::day, 1'710'097'200, 23 * 60);
  expect_minutes("Australia/Lord_Howe", CalendarUnit::day, 1'712'412'000, 24 * 60 + 30);
  expect_minutes("Asia/Tokyo", CalendarUnit::week, 1'711'879'200, 7 * 24 * 60);
  expect_minutes("UTC", CalendarUnit::day, 1'711'879'200, 24 * 60);
}

// The database lists changes until 2037, and has rules for those that follow.
TEST(CalendarOf, ClocksChangeInTimesToCome) {
  expect_minutes("Europe/Berlin", CalendarUnit::day, 4'109'911'200, 23 * 60);  // 2100-03-28
}

TEST(CalendarOf, IsReadOnce) {
  const auto first = calendar_of(CalendarUnit::day, "Europe/Berlin");
  EXPECT_EQ(first.value(), calendar_of(CalendarUnit::day, "Europe/Berlin").value());
  EXPECT_NE(first.value(), calendar_of(CalendarUnit::week, "Europe/Berlin").value());
}

TEST(CalendarOf, NamesThatAreNone) {
  for (const char* name : {"", "Europe", "Berlin", "europe/berlin", "/etc/localtime",
                           "../zoneinfo/UTC", "file:/etc/localtime", "CET+1", "UTC "}) {
    EXPECT_FALSE(calendar_of(CalendarUnit::day, name)) << name;
  }
}

}  // namespace
}  // namespace headgate::policy
