#include "headgate/sim/log/traffic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "headgate/sim/testing/traffic_of.h"

namespace headgate::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr Nanos second = nanos_per_second;

// The seconds at which requests began and the numbers of their lines, in the order of replay().
std::vector<std::pair<std::int64_t, std::uint64_t>> replayed(const Traffic& traffic) {
  std::vector<std::pair<std::int64_t, std::uint64_t>> all;
  EXPECT_TRUE(traffic.replay([&](Instant at, const LoggedRequest& request) {
    all.emplace_back(static_cast<std::int64_t>(at.ns / second), request.line());
  }));
  return all;
}

TEST(Traffic, OfNoLogsIsEmpty) {
  Traffic traffic({});
  traffic.finish();
  EXPECT_THAT(replayed(traffic), IsEmpty());
  EXPECT_EQ(traffic.lines(), 0u);
  EXPECT_EQ(traffic.requests(), 0u);
  EXPECT_EQ(traffic.skipped(), 0u);
  EXPECT_EQ(traffic.first(), Instant{});
  EXPECT_EQ(traffic.last(), Instant{});
  EXPECT_FALSE(traffic.has_durations());
  EXPECT_FALSE(traffic.has_request_bytes());
}

TEST(Traffic, IsReplayedInTheOrderInWhichRequestsBegan) {
  Traffic traffic({});
  read_log(traffic, "10 0 10.0.0.1\n12 7 10.0.0.2\n11 0 10.0.0.3\n");
  traffic.finish();
  EXPECT_THAT(replayed(traffic), ElementsAre(Pair(5, 1), Pair(10, 0), Pair(11, 2)));
  EXPECT_EQ(traffic.first().ns, 5 * second);
  EXPECT_EQ(traffic.last().ns, 11 * second);
  EXPECT_TRUE(traffic.has_durations());
}

TEST(Traffic, KeepsTheOrderOfLinesWithEqualTimesOverAllLogs) {
  Traffic traffic({});
  read_log(traffic, "5 0 10.0.0.1\n3 0 10.0.0.1\n5 0 10.0.0.1\n");
  read_log(traffic, "5 0 10.0.0.1\n7 2 10.0.0.1\n1 0 10.0.0.1\n");
  traffic.finish();
  EXPECT_THAT(replayed(traffic),
              ElementsAre(Pair(1, 5), Pair(3, 1), Pair(5, 0), Pair(5, 2), Pair(5, 3), Pair(5, 4)));
}

TEST(Traffic, CanBeReplayedSeveralTimesAlsoAtOnce) {
  Traffic traffic({});
  read_log(traffic, "2 0 10.0.0.1\n1 0 10.0.0.1\n");
  traffic.finish();
  const auto once = replayed(traffic);
  EXPECT_EQ(replayed(traffic), once);
  EXPECT_TRUE(
      traffic.replay([&](Instant, const LoggedRequest&) { EXPECT_EQ(replayed(traffic), once); }));
}

TEST(Traffic, IsInOrderAlsoWithLittleMemory) {
  std::string log;
  for (int i = 0; i < 5000; ++i) log += std::to_string(i * 7919 % 5000) + " 0 10.0.0.1\n";
  Traffic traffic({}, 4096);
  read_log(traffic, log);
  traffic.finish();
  const auto all = replayed(traffic);
  ASSERT_THAT(all, SizeIs(5000));
  for (std::size_t i = 0; i < all.size(); ++i) {
    ASSERT_EQ(all[i].first, static_cast<std::int64_t>(i));
    ASSERT_EQ(static_cast<std::int64_t>(all[i].second) * 7919 % 5000, all[i].first);
  }
}

TEST(Traffic, SkipsUnreadableLinesAndReportsThem) {
  Traffic traffic({});
  std::vector<std::string> complaints;
  std::vector<std::pair<std::uint64_t, std::string>> skips;
  const auto complain = [&](const std::string& what) { complaints.push_back(what); };
  const auto on_skip = [&](std::uint64_t line, std::string_view what) {
    skips.emplace_back(line, what);
    return Result<void, std::string>();
  };
  read_log(traffic, "1 0 10.0.0.1\nx\n", complain, on_skip);
  read_log(traffic, "\n" + std::string(line_bytes_max + 1, '1') + "\n2 0 10.0.0.1", complain,
           on_skip);
  traffic.finish();
  constexpr char fault[] = "expected a time, a duration, a client";
  EXPECT_THAT(complaints,
              ElementsAre(std::string("log:2: ") + fault, std::string("log:1: ") + fault,
                          "log:2: longer than 1048576 bytes"));
  EXPECT_THAT(skips,
              ElementsAre(Pair(1, fault), Pair(2, fault), Pair(3, "longer than 1048576 bytes")));
  EXPECT_EQ(traffic.lines(), 5u);
  EXPECT_EQ(traffic.requests(), 2u);
  EXPECT_EQ(traffic.skipped(), 3u);
  EXPECT_THAT(replayed(traffic), ElementsAre(Pair(1, 0), Pair(2, 4)));
}

TEST(Traffic, StopsWhereOnSkipFails) {
  const std::string path =
      std::filesystem::temp_directory_path() / ("headgate-stop-" + std::to_string(getpid()));
  std::ofstream(path) << "x\n1 0 10.0.0.1\n";
  auto lines = Lines::open(path);
  std::filesystem::remove(path);
  ASSERT_TRUE(lines);
  Traffic traffic({});
  PlainReader reader({});
  const auto read = traffic.read(
      *lines, reader, "log", [](const std::string&) {},
      [](std::uint64_t, std::string_view) -> Result<void, std::string> {
        return Failure<std::string>("no room for the decisions file");
      },
      [](const Source&) {});
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error(), "no room for the decisions file");
  EXPECT_EQ(traffic.requests(), 0u);
}

TEST(Traffic, KeepsTheFieldsThatPoliciesUseAndSaysWhichNoLineHas) {
  policy::FieldsUsed used;
  used.host = true;
  used.request_headers = {"x-plan", "x-user"};
  used.response_headers = {"x-cost"};
  Traffic traffic(used);
  EXPECT_THAT(traffic.missing_fields(),
              ElementsAre("the host", "the request header \"x-plan\"",
                          "the request header \"x-user\"", "the response header \"x-cost\""));
  read_log(traffic, "1 0 10.0.0.1 x-plan=gold\n2 0 10.0.0.1 host=a.example bytes=0\n");
  traffic.finish();
  EXPECT_THAT(traffic.missing_fields(),
              ElementsAre("the request header \"x-user\"", "the response header \"x-cost\""));
  EXPECT_TRUE(traffic.has_request_bytes()) << "0 bytes are a number of bytes";
  EXPECT_FALSE(traffic.has_durations());
  std::vector<std::string> plans;
  EXPECT_TRUE(traffic.replay([&](Instant, const LoggedRequest& request) {
    plans.emplace_back(request.request().headers->line("x-plan", 0).value_or("none"));
  }));
  EXPECT_THAT(plans, ElementsAre("gold", "none"));
}

}  // namespace
}  // namespace headgate::sim
