#include "headgate/policy/load.h"

#include <gtest/gtest.h>

namespace headgate::policy {
namespace {

TEST(Load, ReadsASmallFile) {
  const Loaded loaded =
      load_text("version: 1\npolicies: [{name: burst, quota: 100, window: 1m}]\n", "f");
  ASSERT_TRUE(loaded) << loaded.error().front().text();
  EXPECT_EQ((*loaded)->policies()[0].name, "burst");
}

}  // namespace
}  // namespace headgate::policy
