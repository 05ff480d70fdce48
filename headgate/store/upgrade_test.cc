// A table file of the former format: all states are kept.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "headgate/base/testing/temporary_directory.h"
#include "headgate/store/table.h"
#include "headgate/store/testing/format_4.h"

namespace headgate::store {
namespace {

using limit::Algorithm;
using limit::Quota;
using limit::Terms;
using testing::HasSubstr;

constexpr Nanos window = Nanos{1000} * 86'400 * nanos_per_second;
constexpr std::size_t anchor_at = 128;  // in format 4

class TableUpgrade : public testing::Test {
 protected:
  TableUpgrade() {
    std::string bytes(format_4_bytes, '\0');
    std::istringstream lines{std::string(format_4)};
    std::size_t at = 0;
    for (std::string low, high; lines >> at >> low >> high; at += 16) {
      const std::string hex = low + high;
      for (std::size_t i = 0; i < 16; ++i) {
        bytes[at + i] = static_cast<char>(std::stoi(hex.substr(2 * i, 2), nullptr, 16));
      }
    }
    // An hour ago, in a boot of the system that is over.
    std::memset(bytes.data() + anchor_at, 0, 16);
    const std::int64_t wall = (std::time(nullptr) - 3600) * 1'000'000'000;
    std::memcpy(bytes.data() + anchor_at + 40, &wall, sizeof wall);
    write(bytes);
  }

  void write(const std::string& bytes) { std::ofstream(path_, std::ios::binary) << bytes; }
  std::string contents() {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  Result<std::unique_ptr<Table>, std::string> open(std::size_t bytes = format_4_bytes) {
    return Table::open({.memory = bytes, .file = path_});
  }
  std::string refusal() {
    const std::string before = contents();
    const auto table = open();
    EXPECT_FALSE(table.has_value());
    EXPECT_TRUE(contents() == before) << "a refused file is not touched";
    return table ? "" : table.error();
  }

  TemporaryDirectory directory_;
  std::string path_ = directory_.file("table");
};

std::uint64_t remaining(Table& table, const char* key, const Quota& quota, const Terms& terms) {
  const limit::Law law = limit::make_law(quota, terms).value();
  const Charge charge{&law, key, 0};
  limit::Decision decision;
  Bundle bundle{{&charge, 1}, {&decision, 1}};
  table.take({&bundle, 1}, table.now(), {});
  return decision.remaining;
}

void expect_all_states(Table& table) {
  EXPECT_EQ(remaining(table, "narrow", {1000, window}, {}), 990u);
  EXPECT_EQ(remaining(table, "wide", {7, window}, {}), 4u);
  const auto six_of_ten = [&](const char* law, Algorithm algorithm) {
    const Terms terms{.algorithm = algorithm, .lease = window};
    EXPECT_EQ(remaining(table, law, {10, window}, terms), 6u) << law;
  };
  six_of_ten("exponential", Algorithm::exponential);
  six_of_ten("fixed window", Algorithm::fixed_window);
  six_of_ten("sliding window counter", Algorithm::sliding_window_counter);
  six_of_ten("moving window", Algorithm::moving_window);
  six_of_ten("concurrency", Algorithm::concurrency);
  EXPECT_EQ(remaining(table, "new", {10, window}, {}), 10u);
}

TEST_F(TableUpgrade, KeepsTheStatesOfAllLaws) {
  for (int restart = 0; restart < 2; ++restart) {
    const auto table = open();
    ASSERT_TRUE(table) << table.error();
    if (restart == 0) {
      EXPECT_EQ((*table)->stats().unkept, 2u);
    }
    expect_all_states(**table);
  }
  EXPECT_EQ(contents()[8], 5) << "the format";
}

TEST_F(TableUpgrade, MayGrowAtOnce) {
  const auto table = open(8 * format_4_bytes);
  ASSERT_TRUE(table) << table.error();
  EXPECT_EQ((*table)->stats().memory, 8 * format_4_bytes);
  expect_all_states(**table);
}

TEST_F(TableUpgrade, WaitsForTheEndOfAnOlderProgram) {
  const int older = ::open(path_.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(flock(older, LOCK_SH), 0);
  EXPECT_THAT(refusal(),
              HasSubstr("is a headgate table of format 4, and an older headgate uses it; this "
                        "headgate brings it to format 5 when that one has ended"));
  close(older);
  EXPECT_TRUE(open());
}

TEST_F(TableUpgrade, ItDoesNotBecomeSmaller) {
  const auto table = open(format_4_bytes / 2);
  ASSERT_TRUE(table) << table.error();
  EXPECT_EQ((*table)->stats().memory, format_4_bytes);
  expect_all_states(**table);
}

TEST_F(TableUpgrade, ADamagedHeaderIsRefused) {
  const std::string whole = contents();
  for (std::size_t at = 12; at < 88; ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    write(damaged);
    EXPECT_THAT(refusal(), HasSubstr("is a headgate table of format 4 with a damaged header"))
        << at;
  }
  write(whole.substr(0, whole.size() - 4096));
  EXPECT_THAT(refusal(),
              HasSubstr("is a headgate table of format 4 with a damaged header or another size"));
}

}  // namespace
}  // namespace headgate::store
