#include "headgate/store/clock.h"

#include <gtest/gtest.h>

#include <limits>

namespace headgate::store {
namespace {

constexpr std::int64_t second = 1'000'000'000;

// A simulated machine.
struct Machine {
  static inline std::int64_t monotonic;
  static inline std::int64_t wall;
  static inline std::array<char, 16> boot;
  static constexpr ClockSource source{[]() noexcept { return monotonic; },
                                      []() noexcept { return wall; },
                                      []() noexcept { return boot; }};

  static void pass(std::int64_t ns) {
    monotonic += ns;
    wall += ns;
  }
  static void reboot(std::int64_t down) {
    monotonic = 5 * second;
    wall += down;
    ++boot[0];
  }
};

class ClockTest : public testing::Test {
 protected:
  ClockTest() {
    Machine::monotonic = 1000 * second;
    Machine::wall = 1'700'000'000 * second;
    Machine::boot = {1};
    Clock::begin(anchor_, Machine::source);
  }

  Anchor anchor_{};
};

TEST_F(ClockTest, ProcessesAgree) {
  const Clock one(anchor_, Machine::source);
  Machine::pass(7 * second + 1);
  const Clock two(anchor_, Machine::source);
  EXPECT_EQ(one.now(), two.now());
  Machine::pass(3);
  EXPECT_EQ(one.now(), two.now());
}

TEST_F(ClockTest, StepsOfTheWallClockHaveNoEffect) {
  const Clock clock(anchor_, Machine::source);
  const Instant before = clock.now();
  for (const std::int64_t step : {-86400 * second, 10 * 86400 * second, -second}) {
    Machine::wall += step;
    EXPECT_EQ(clock.now(), before);
    EXPECT_EQ(Clock(anchor_, Machine::source).now(), before)
        << "nor for a process that joins later";
  }
}

TEST_F(ClockTest, ContinuesAfterARestart) {
  const Instant before = Clock(anchor_, Machine::source).now();
  Machine::pass(90 * second);
  EXPECT_EQ(Clock(anchor_, Machine::source).now().ns, before.ns + 90 * second);
}

TEST_F(ClockTest, ContinuesByTheWallClockAfterAReboot) {
  Clock clock(anchor_, Machine::source);
  Machine::pass(10 * second);
  const Instant before = clock.now();
  Machine::reboot(40 * second);
  EXPECT_EQ(Clock(anchor_, Machine::source).now().ns, before.ns + 40 * second);
  EXPECT_EQ(Clock(anchor_, Machine::source).now().ns, before.ns + 40 * second) << "only once";
}

TEST_F(ClockTest, StandsStillOverARebootAfterWhichTheWallClockIsEarlier) {
  Clock clock(anchor_, Machine::source);
  Machine::pass(10 * second);
  const Instant before = clock.now();
  Machine::reboot(-3600 * second);
  EXPECT_EQ(Clock(anchor_, Machine::source).now(), before);
}

TEST_F(ClockTest, AJoiningProcessThatCannotReadTheBootIdLeavesTheOthersTheirTime) {
  const Clock clock(anchor_, Machine::source);
  Machine::pass(90 * second / 100);
  const Instant before = clock.now();
  const std::array<char, 16> known = Machine::boot;
  Machine::boot = {};
  Machine::pass(3 * second);
  const Clock blind(anchor_, Machine::source);
  EXPECT_EQ(blind.now().ns, before.ns + 3 * second);
  Machine::boot = known;
  EXPECT_EQ(Clock(anchor_, Machine::source).now(), clock.now());
  EXPECT_EQ(blind.now(), clock.now());
}

TEST_F(ClockTest, ContinuesByTheWallClockAfterARebootWithoutABootId) {
  Clock clock(anchor_, Machine::source);
  Machine::pass(10 * second);
  const Instant before = clock.now();
  Machine::reboot(40 * second);
  Machine::boot = {};
  EXPECT_EQ(Clock(anchor_, Machine::source).now().ns, before.ns + 40 * second);
}

// A machine on which the process is stopped before each reading of the wall clock.
struct Busy : Machine {
  static inline std::int64_t pause = 0;
  static constexpr ClockSource source{[]() noexcept { return monotonic; },
                                      []() noexcept {
                                        pass(pause);
                                        return wall;
                                      },
                                      []() noexcept { return boot; }};
};

TEST_F(ClockTest, APauseBetweenTwoReadingsMovesNoWallTime) {
  const Clock clock(anchor_, Busy::source);
  const Nanos before = clock.to_wall();
  Busy::pause = second / 10;
  for (int i = 0; i < 10; ++i) {
    Machine::pass(2 * second);
    static_cast<void>(clock.now());
    EXPECT_EQ(clock.to_wall(), before);
  }
  Busy::pause = 0;
  Machine::wall += second;
  Machine::pass(2 * second);
  static_cast<void>(clock.now());
  EXPECT_EQ(clock.to_wall(), before + second) << "without pauses it follows the wall clock";
}

// A machine on which the process is stopped once, before or after it reads a clock or the boot id.
// Meanwhile another process uses the table.
struct Stopping : Machine {
  static inline int steps_before = 0;
  static inline const Clock* other = nullptr;

  static void step() noexcept {
    if (steps_before-- != 0) return;
    for (int i = 0; i < 20; ++i) {
      pass(second + 1);
      static_cast<void>(other->now());
    }
  }
  template <class T>
  static T read(const T& shown) noexcept {
    step();
    const T seen = shown;
    step();
    return seen;
  }
  static constexpr ClockSource source{[]() noexcept { return read(monotonic); },
                                      []() noexcept { return read(wall); },
                                      []() noexcept { return read(boot); }};
};

TEST_F(ClockTest, AStartThatIsStoppedAnywhereCountsInTheOthersTime) {
  const std::array<char, 16> known = Machine::boot;
  for (const bool has_boot_id : {true, false}) {
    for (int steps = 0;; ++steps) {
      Machine::boot = known;
      const Clock other(anchor_, Machine::source);
      Stopping::other = &other;
      Stopping::steps_before = steps;
      if (!has_boot_id) Machine::boot = {};
      const Clock stopped(anchor_, Stopping::source);
      if (Stopping::steps_before >= 0) break;  // it has taken fewer
      EXPECT_EQ(stopped.now(), other.now()) << has_boot_id << ", stopped after step " << steps;
      Machine::boot = known;
      EXPECT_EQ(Clock(anchor_, Machine::source).now(), other.now()) << "and who joins later";
    }
  }
}

TEST_F(ClockTest, TheAnchorIsAtMostASecondOld) {
  Clock clock(anchor_, Machine::source);
  for (int i = 0; i < 1000; ++i) {
    Machine::pass(second / 7);
    const Instant now = clock.now();
    const Instant stored{static_cast<std::int64_t>(anchor_.seen.low())};
    EXPECT_LE(now.ns - stored.ns, second);
  }
}

TEST_F(ClockTest, TreatsAResetMonotonicClockAsAnotherBoot) {
  Clock clock(anchor_, Machine::source);
  Machine::pass(10 * second);
  const Instant before = clock.now();
  Machine::monotonic = second;  // same boot id: a restored snapshot, another time namespace
  EXPECT_GE(Clock(anchor_, Machine::source).now(), before);
}

// The year's start [ns since 1970].
constexpr std::int64_t start_of(int year) { return (year - 1970) * (31'556'952 * second); }

TEST_F(ClockTest, WallTimeHasNoEndInThisCentury) {
  const Clock clock(anchor_, Machine::source);
  for (const int year : {1970, 2042, 2044, 2100, 2200}) {
    Machine::wall = start_of(year);
    for (int i = 0; i < 10; ++i) {
      Machine::pass(2 * second);
      const Instant now = clock.now();
      EXPECT_EQ(now.ns + clock.to_wall(), Machine::wall) << year;
    }
  }
}

TEST_F(ClockTest, WallTimeGoesOnIfTheWallClockIsOutOfItsRange) {
  const Clock clock(anchor_, Machine::source);
  Machine::pass(2 * second);
  Nanos before = clock.now().ns + clock.to_wall();
  for (const std::int64_t wrong : {std::int64_t{-1}, std::numeric_limits<std::int64_t>::min(),
                                   start_of(2230), std::numeric_limits<std::int64_t>::max()}) {
    for (int i = 0; i < 10; ++i) {
      Machine::monotonic += second + second / 7;
      Machine::wall = wrong;
      const Nanos wall = clock.now().ns + clock.to_wall();
      EXPECT_EQ(static_cast<std::int64_t>(wall - before), second + second / 7) << wrong;
      before = wall;
    }
  }
}

TEST_F(ClockTest, ABootWithAWallClockFarAheadLeavesTimeForDecades) {
  Machine::reboot(0);
  Machine::wall = start_of(2220);
  Clock clock(anchor_, Machine::source);
  const Instant ahead = clock.now();
  for (int year = 0; year < 40; ++year) {
    Machine::monotonic += start_of(1971);
    Machine::wall = start_of(2026 + year);
    const Instant now = clock.now();
    EXPECT_EQ(now.ns - ahead.ns, (year + 1) * start_of(1971));
    EXPECT_EQ(Clock(anchor_, Machine::source).now(), now) << "another process agrees";
  }
  Machine::reboot(5 * second);
  EXPECT_GE(Clock(anchor_, Machine::source).now().ns, ahead.ns + 40 * start_of(1971));
}

TEST(SystemClock, NamesItsBootAndAdvances) {
  const ClockSource& system = ClockSource::system();
  EXPECT_NE(system.boot(), (std::array<char, 16>{}));
  EXPECT_EQ(system.boot(), system.boot());
  const std::int64_t before = system.monotonic();
  EXPECT_GE(system.monotonic(), before);
  EXPECT_GT(system.wall(), 1'600'000'000 * second);
}

}  // namespace
}  // namespace headgate::store
