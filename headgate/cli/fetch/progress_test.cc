#include "headgate/cli/fetch/progress.h"

#include <gtest/gtest.h>

namespace headgate::cli {
namespace {

constexpr Instant start{};
constexpr Instant ten_seconds{10 * nanos_per_second};

TEST(ProgressLine, ShowsRateAndTimeLeft) {
  FetchState state;
  state.done = 100;
  state.all = 200;
  EXPECT_EQ(progress_line(state, start, ten_seconds),
            "[##########..........] 100/200  10.0/s  ETA 0:10");
}

TEST(ProgressLine, ShowsWhatIsLeftAndHowLongItWaits) {
  FetchState state;
  state.all = 5;
  state.denied = 2;
  state.standing = client::Standing{"burst\x1b", 42, 100, {}};
  state.next = {client::Why::retry_after, {ten_seconds.ns + 3 * nanos_per_second}};
  EXPECT_EQ(progress_line(state, start, ten_seconds),
            "[....................] 0/5  42 of 100 left (burst\\x1b)  2 denied  waiting 3 s");
}

TEST(ProgressLine, IsALineWithoutUrls) {
  EXPECT_EQ(progress_line({}, start, start), "[....................] 0/0");
}

}  // namespace
}  // namespace headgate::cli
