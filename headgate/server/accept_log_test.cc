#include "headgate/server/accept_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <vector>

#include "headgate/server/testing/log_lines.h"
#include "headgate/server/testing/open_engine.h"
#include "headgate/server/worker_context.h"

namespace headgate::server {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class AcceptLogTest : public ::testing::Test {
 protected:
  std::vector<std::string> lines_at(seconds since_start) {
    log_.look(AcceptLog::Clock::time_point() + seconds(1000) + since_start);
    return lines_.take();
  }

  const std::unique_ptr<Engine> engine_ = open_engine();
  WorkerContext worker_{*engine_};
  WorkerContext other_{*engine_};
  AcceptLog log_{*engine_};
  LogLines lines_;

  static constexpr char begins[] =
      "error connections cannot be accepted: Too many open files; it is tried again until they can";
  static constexpr char ends[] = "info no connection fails to be accepted any more";
};

TEST_F(AcceptLogTest, SaysWhenItBeginsAndWhenItIsOver) {
  EXPECT_THAT(lines_at(seconds(0)), IsEmpty());
  worker_.stats().accept_failed(DoorKind::http, EMFILE);
  EXPECT_THAT(lines_at(seconds(1)), ElementsAre(begins));
  other_.stats().accept_failed(DoorKind::resp, EMFILE);
  EXPECT_THAT(lines_at(seconds(2)), IsEmpty());
  EXPECT_THAT(lines_at(seconds(2)), IsEmpty()) << "a signal came";
  EXPECT_THAT(lines_at(seconds(3)), ElementsAre(ends));
  EXPECT_THAT(lines_at(seconds(4)), IsEmpty());
}

TEST_F(AcceptLogTest, SaysSoAtMostOnceInTenSeconds) {
  for (int second = 0; second < 30; second += 2) {
    worker_.stats().accept_failed(DoorKind::http, EMFILE);
    const bool is_first = second % 10 == 0;
    EXPECT_EQ(lines_at(seconds(second)).size(), is_first ? 1u : 0u) << second;
    EXPECT_EQ(lines_at(seconds(second + 1)).size(), is_first ? 1u : 0u) << second;
  }
}

}  // namespace
}  // namespace headgate::server
