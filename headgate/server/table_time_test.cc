#include "headgate/server/table_time.h"

#include <gtest/gtest.h>

#include <memory>

namespace headgate::server {
namespace {

TEST(TableTime, IsThatOfOneTable) {
  const auto one = store::Table::open({.memory = 1 << 20}).value();
  const auto other = store::Table::open({.memory = 1 << 20}).value();
  EXPECT_EQ(time_of(*one).table, time_of(*one).table);
  EXPECT_NE(time_of(*one).table, time_of(*other).table);
}

TEST(TableTime, AStepOfTheWallClockMovesNoMomentOfTheSameTable) {
  EXPECT_EQ(moment_of({100}, {1, {}, 1000}, {1, {}, 5000}), Instant{100});
}

TEST(TableTime, AnotherTableReadsAMomentByWallTime) {
  EXPECT_EQ(moment_of({100}, {1, {}, 1000}, {2, {}, 700}), Instant{400});
  EXPECT_EQ(moment_of({100}, {1, {}, 700}, {2, {}, 1000}), Instant{-200});
}

}  // namespace
}  // namespace headgate::server
