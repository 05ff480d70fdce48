// What the laws with a log have in common, against the same unit by unit; and that a long log,
// which is a list in the table, is read forwards.

#include "headgate/limit/log.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

#include "headgate/limit/testing/vector_log.h"

namespace headgate::limit {
namespace {

VectorLog log_of(const std::vector<Record>& records) {
  VectorLog log;
  for (const Record& record : records) log.append(record);
  return log;
}

std::vector<Record> records_of(const VectorLog& log) {
  std::vector<Record> records;
  for (std::size_t i = 0; i < log.size(); ++i) records.push_back(log.get(i));
  return records;
}

std::vector<Record> some_records() {
  std::vector<Record> records(*rc::gen::inRange<std::size_t>(0, 8));
  std::int64_t time = 0;
  for (Record& record : records) {
    time += *rc::gen::inRange<std::int64_t>(1, 5);
    record = {time, *rc::gen::inRange<std::uint64_t>(1, 5)};
  }
  return records;
}

RC_GTEST_PROP(Log, TakesUnitsBackFromTheOneThenFromOlderThenFromNewerOnes, ()) {
  std::vector<Record> expected = some_records();
  VectorLog log = log_of(expected);
  const auto which = *rc::gen::inRange<std::size_t>(0, 10);
  const auto cost = *rc::gen::inRange<std::uint64_t>(0, 30);
  std::uint64_t taken = 0;
  const auto take_one = [&](Record& record) {
    if (record.cost == 0 || taken == cost) return false;
    --record.cost;
    ++taken;
    return true;
  };
  for (std::size_t i = std::min(which + 1, expected.size()); i-- > 0;) {
    while (take_one(expected[i])) continue;
  }
  for (Record& record : expected) {
    while (take_one(record)) continue;
  }
  std::erase_if(expected, [](const Record& record) { return record.cost == 0; });
  RC_ASSERT(log::take_back(log, which, cost) == taken);
  RC_ASSERT(records_of(log) == expected);
}

RC_GTEST_PROP(Log, WhatIsLaterThanAClockThatWentBackIsOneRecordOfItsTime, ()) {
  const std::vector<Record> before = some_records();
  VectorLog log = log_of(before);
  const auto latest = *rc::gen::inRange<std::int64_t>(0, 40);
  const std::int64_t horizon = latest - *rc::gen::inRange<std::int64_t>(1, 20);
  std::vector<Record> expected;
  std::uint64_t ahead = 0;
  for (const Record& record : before) {
    if (record.time > latest) {
      ahead += record.cost;
    } else if (record.time > horizon) {
      expected.push_back(record);
    }
  }
  if (ahead > 0) expected.push_back({latest, ahead});
  log::expire(log, horizon, latest);
  RC_ASSERT(records_of(log) == expected);
}

// Counts how often a record is read that is older than the one before, but for the newest one.
class CountedLog : public VectorLog {
 public:
  [[nodiscard]] Record get(std::size_t i) const {
    if (i + 1 < size()) {
      if (i < last_) ++rewinds_;
      last_ = i;
    }
    return VectorLog::get(i);
  }
  [[nodiscard]] std::size_t rewinds() const noexcept { return rewinds_; }

 private:
  mutable std::size_t last_ = 0;
  mutable std::size_t rewinds_ = 0;
};

TEST(Log, IsReadForwards) {
  for (const bool takes_back : {false, true}) {
    CountedLog log;
    for (std::int64_t time = 1; time <= 1000; ++time) log.append({time, 1});
    if (takes_back) {
      log::take_back(log, log.size() - 1, 900);
    } else {
      log::expire(log, -1000, 100);
    }
    EXPECT_EQ(log.units(), takes_back ? 100u : 1000u);
    EXPECT_LE(log.rewinds(), 4u);
  }
}

}  // namespace
}  // namespace headgate::limit
