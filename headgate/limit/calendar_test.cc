#include "headgate/limit/calendar.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "headgate/limit/law.h"

namespace headgate::limit {
namespace {

using std::chrono::sys_days;
using std::chrono::year_month_day;
using namespace std::chrono_literals;

constexpr std::int64_t hour = 3600;

// Seconds since 1970 of a time in UTC.
std::int64_t utc(int year, unsigned month, unsigned day, std::chrono::seconds time = 0s) {
  const sys_days date = std::chrono::year(year) / static_cast<int>(month) / static_cast<int>(day);
  return (date.time_since_epoch() + time).count();
}

// The windows of this test in hours, from the first on, and whether each is found from all of its
// moments.
struct Span {
  std::int64_t begin;
  std::int64_t end;
  friend bool operator==(const Span&, const Span&) = default;
  friend void PrintTo(const Span& span, std::ostream* out) {
    *out << span.begin << " to " << span.end;
  }
};

Span found(const Calendar& calendar, Nanos at) {
  const Calendar::Window window = calendar.window_at(at);
  EXPECT_EQ(window.begin % nanos_per_second == 0 && window.end % nanos_per_second == 0, true);
  return {static_cast<std::int64_t>(window.begin / nanos_per_second),
          static_cast<std::int64_t>(window.end / nanos_per_second)};
}

// Expects that the window is found from its first, last and every other moment.
void expect_window(const Calendar& calendar, Span window) {
  for (const Nanos at :
       {Nanos{window.begin} * nanos_per_second, Nanos{window.end} * nanos_per_second - 1,
        Nanos{window.begin + window.end} * nanos_per_second / 2}) {
    EXPECT_EQ(found(calendar, at), window);
  }
  EXPECT_EQ(found(calendar, Nanos{window.begin} * nanos_per_second - 1).end, window.begin);
  EXPECT_EQ(found(calendar, Nanos{window.end} * nanos_per_second).begin, window.end);
}

std::vector<Calendar::Change> berlin() {
  return {{0, 3600},
          {utc(2024, 3, 31, 1h), 7200},
          {utc(2024, 10, 27, 1h), 3600},
          {utc(2025, 3, 30, 1h), 7200}};
}

TEST(Calendar, UtcNeedsNoChange) {
  const Calendar day(CalendarUnit::day, "UTC", {{0, 0}});
  const Calendar week(CalendarUnit::week, "UTC", {{0, 0}});
  const Calendar month(CalendarUnit::month, "UTC", {{0, 0}});
  expect_window(day, {utc(2026, 11, 23), utc(2026, 11, 24)});
  expect_window(week, {utc(2026, 11, 23), utc(2026, 11, 30)});  // a Monday
  expect_window(month, {utc(2026, 11, 1), utc(2026, 12, 1)});
  expect_window(month, {utc(2024, 2, 1), utc(2024, 3, 1)});
  expect_window(month, {utc(2026, 12, 1), utc(2027, 1, 1)});
  expect_window(month, {utc(1969, 12, 1), utc(1970, 1, 1)});
  expect_window(week, {utc(1969, 12, 29), utc(1970, 1, 5)});
}

TEST(Calendar, EveryMonthOfFourCenturies) {
  const Calendar calendar(CalendarUnit::month, "UTC", {{0, 0}});
  for (int year = 1850; year < 2250; ++year) {
    for (unsigned month = 1; month <= 12; ++month) {
      const bool last = month == 12;
      expect_window(calendar,
                    {utc(year, month, 1), utc(year + (last ? 1 : 0), last ? 1 : month + 1, 1)});
    }
  }
}

TEST(Calendar, ADayOnWhichClocksChangeHasAnotherLength) {
  const Calendar day(CalendarUnit::day, "Europe/Berlin", berlin());
  expect_window(day, {utc(2024, 3, 30, 23h), utc(2024, 3, 31, 22h)});    // 23 hours
  expect_window(day, {utc(2024, 7, 9, 22h), utc(2024, 7, 10, 22h)});     // 24
  expect_window(day, {utc(2024, 10, 26, 22h), utc(2024, 10, 27, 23h)});  // 25
  const Calendar week(CalendarUnit::week, "Europe/Berlin", berlin());
  expect_window(week, {utc(2024, 3, 24, 23h), utc(2024, 3, 31, 22h)});
  const Calendar month(CalendarUnit::month, "Europe/Berlin", berlin());
  expect_window(month, {utc(2024, 2, 29, 23h), utc(2024, 3, 31, 22h)});
  expect_window(month, {utc(2024, 9, 30, 22h), utc(2024, 10, 31, 23h)});
}

TEST(Calendar, ClocksThatAreChangedOverMidnight) {
  const std::int64_t midnight = utc(2018, 11, 4);
  // Put forward at midnight: the day begins at one.
  const Calendar forward(CalendarUnit::day, "", {{0, 0}, {midnight, hour}});
  expect_window(forward, {midnight, midnight + 23 * hour});
  // Put back at midnight by an hour: it comes an hour later.
  const Calendar back(CalendarUnit::day, "", {{0, 0}, {midnight, -hour}});
  expect_window(back, {midnight - 24 * hour, midnight + hour});
  // Put back at half past midnight: a day that has begun does not begin again.
  const Calendar late(CalendarUnit::day, "", {{0, 0}, {midnight + hour / 2, -hour}});
  expect_window(late, {midnight - 24 * hour, midnight});
  expect_window(late, {midnight, midnight + 25 * hour});
}

// Samoa had no 30 December 2011.
TEST(Calendar, ADayThatDidNotExistHasNoWindow) {
  const std::int64_t change = utc(2011, 12, 30, 10h);
  const Calendar day(CalendarUnit::day, "Pacific/Apia", {{0, -10 * hour}, {change, 14 * hour}});
  expect_window(day, {utc(2011, 12, 29, 10h), change});
  expect_window(day, {change, utc(2011, 12, 31, 10h)});
}

TEST(Calendar, EveryMomentIsInOneWindow) {
  std::mt19937_64 random{20};
  const auto below = [&](std::uint64_t end) { return static_cast<std::int64_t>(random() % end); };
  for (int i = 0; i < 300; ++i) {
    std::vector<Calendar::Change> changes;
    for (std::int64_t at = below(1'000'000); changes.size() < 20; at += below(3 * 86'400)) {
      changes.push_back({at, static_cast<std::int32_t>(below(2 * 86'399) - 86'399)});
    }
    const auto unit = static_cast<CalendarUnit>(below(3));
    const Calendar calendar(unit, "", changes);
    const Calendar fresh(unit, "", changes);
    for (Nanos at = -86'400 * nanos_per_second; at < 60 * 86'400 * nanos_per_second;) {
      const Calendar::Window window = calendar.window_at(at);
      ASSERT_LT(window.begin, window.end);
      ASSERT_LE(window.begin, at);
      ASSERT_LT(at, window.end);
      const Nanos length = window.end - window.begin;
      for (const Nanos moment :
           {window.begin, window.end - 1, window.begin + Nanos{below(1'000)} * length / 1'000}) {
        const Calendar::Window same = fresh.window_at(moment);
        ASSERT_TRUE(same.begin == window.begin && same.end == window.end);
      }
      at = window.end;
      ASSERT_EQ(calendar.window_at(at).begin == window.end, true);
    }
  }
}

TEST(Calendar, TimesThatAreFarAway) {
  for (const CalendarUnit unit : {CalendarUnit::day, CalendarUnit::week, CalendarUnit::month}) {
    const Calendar calendar(unit, "Europe/Berlin", berlin());
    for (const Nanos at : {-(Nanos{1} << 89), Nanos{1} << 89, -(Nanos{1} << 62), Nanos{1} << 62}) {
      const Calendar::Window window = calendar.window_at(at);
      EXPECT_TRUE(window.begin <= at && at < window.end);
      EXPECT_LE(window.end - window.begin, usual_length(unit));
    }
  }
}

TEST(Calendar, ThreadsFindTheirOwnWindows) {
  const Calendar calendar(CalendarUnit::day, "Europe/Berlin", berlin());
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 2; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 20'000; ++i) {
        const Nanos at =
            Nanos{utc(2024, 10, 26, 12h) + 86'400 * (i % 3 + thread)} * nanos_per_second;
        const Calendar::Window window = calendar.window_at(at);
        if (window.begin > at || window.end <= at) ADD_FAILURE() << i;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// ---- the law

struct Key {
  std::optional<FixedWindow::State> state{};

  Decision spend(const FixedWindow& law, std::uint64_t cost, std::int64_t second) {
    const auto step = law.spend(state, cost, Instant{Nanos{second} * nanos_per_second});
    if (step.changed) state = step.state;
    return step.decision;
  }
};

FixedWindow law_of(const Calendar& calendar, std::uint64_t units, bool late = false,
                   Reset reset = Reset::pace) {
  return *FixedWindow::make({units, usual_length(calendar.unit())},
                            {.reset = reset,
                             .algorithm = Algorithm::fixed_window,
                             .late = late,
                             .aligned = true,
                             .calendar = &calendar});
}

TEST(CalendarLaw, TheQuotaIsFullWhenTheMonthEnds) {
  const Calendar month(CalendarUnit::month, "Europe/Berlin", berlin());
  const FixedWindow law = law_of(month, 3);
  Key key;
  const std::int64_t end = utc(2024, 3, 31, 22h);
  EXPECT_TRUE(key.spend(law, 3, utc(2024, 3, 1)).admitted);
  const Decision denied = key.spend(law, 1, utc(2024, 3, 31, 12h));
  EXPECT_FALSE(denied.admitted);
  EXPECT_EQ(denied.reset, static_cast<std::uint64_t>(10 * hour));
  EXPECT_EQ(denied.wait, 10 * hour * nanos_per_second);
  EXPECT_EQ(law.full_at(*key.state), Nanos{end} * nanos_per_second);
  EXPECT_FALSE(key.spend(law, 1, end - 1).admitted);
  EXPECT_TRUE(key.spend(law, 3, end).admitted);
  // The next month is April: 30 days.
  EXPECT_EQ(key.spend(law, 1, end).reset, 30U * 24 * 3600);
}

TEST(CalendarLaw, TIsTheEndOfTheDayWithResetNext) {
  const Calendar day(CalendarUnit::day, "Europe/Berlin", berlin());
  const FixedWindow law = law_of(day, 10, false, Reset::next);
  Key key;
  EXPECT_EQ(key.spend(law, 1, utc(2024, 10, 26, 22h)).reset, 25U * 3600);
  EXPECT_EQ(key.spend(law, 1, utc(2024, 10, 27, 22h)).reset, 3600U);
}

TEST(CalendarLaw, ADebtIsOfTheNextWindow) {
  const Calendar day(CalendarUnit::day, "Europe/Berlin", berlin());
  const FixedWindow law = law_of(day, 10, true);
  const Instant first{Nanos{utc(2024, 10, 26, 12h)} * nanos_per_second};
  Key key{law.debit({}, 15, first).state};
  const Decision denied = key.spend(law, 6, utc(2024, 10, 26, 12h));
  EXPECT_FALSE(denied.admitted);
  EXPECT_EQ(denied.wait,
            (10 + 25) * hour * nanos_per_second);  // not the next day, but the one after
  EXPECT_EQ(key.spend(law, 1, utc(2024, 10, 26, 22h)).remaining, 4U);
}

TEST(CalendarLaw, ParametersMakeTheSameLaw) {
  const Calendar day(CalendarUnit::day, "Europe/Berlin", berlin());
  const Parameters made = parameters_of(Law(law_of(day, 10)));
  EXPECT_EQ(made.terms.calendar, &day);
  EXPECT_TRUE(make_law(made.quota, made.terms).has_value());
  Terms unaligned = made.terms;
  unaligned.aligned = false;
  EXPECT_FALSE(make_law(made.quota, unaligned).has_value());
}

}  // namespace
}  // namespace headgate::limit
