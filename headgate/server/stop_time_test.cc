#include "headgate/server/stop_time.h"

#include <gtest/gtest.h>

#include "headgate/policy/file/load.h"

namespace headgate::server {
namespace {

TEST(StopTime, CutsNoRequestOffThatIsInTime) {
  const auto without =
      policy::load_text("version: 1\npolicies: [{name: a, quota: 1, window: 1m}]", "f");
  const auto with = policy::load_text(
      "version: 1\npolicies: [{name: a, quota: 1, window: 1m, delay: 45s}, "
      "{name: b, quota: 1, window: 1s, delay: 1500ms}]",
      "f");
  DoorOptions options;
  EXPECT_EQ(stop_time(options, **without), std::chrono::seconds(10));
  EXPECT_EQ(stop_time(options, **with), std::chrono::seconds(55));
  options.patience = std::chrono::seconds(120);
  EXPECT_EQ(stop_time(options, **without), std::chrono::seconds(120));
}

}  // namespace
}  // namespace headgate::server
