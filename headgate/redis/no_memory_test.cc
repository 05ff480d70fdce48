// The thread that talks to Redis runs out of memory, at each of its allocations in turn.

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>

#include "headgate/base/testing/allocations.h"
#include "headgate/redis/redis_store.h"
#include "headgate/redis/testing/blocking.h"
#include "headgate/redis/testing/redis_server.h"

namespace headgate::redis {
namespace {

using limit::Algorithm;
using store::Charge;

limit::Law law(Algorithm algorithm) {
  return limit::make_law({1'000'000, 30 * 86400 * nanos_per_second}, {.algorithm = algorithm})
      .value();
}

// Asks a store to decide.
class Caller {
 public:
  explicit Caller(Algorithm algorithm, bool is_leased) : law_(law(algorithm)) {
    shared_.outage_law = law_;
    if (is_leased) shared_.leased = limit::leasable(law_);
    Options options;
    options.nodes = {server_.address()};
    options.timeout = std::chrono::milliseconds(100);
    store_ = RedisStore::open(options).value();
  }

  // Returns whether Redis has decided.
  bool decides(int key) {
    const std::string text = "\1" + std::to_string(key);
    Charge charge{&law_, text};
    charge.shared = &shared_;
    return !take(*store_, {charge}).undecided;
  }
  [[nodiscard]] bool decides_soon(int key) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (std::chrono::steady_clock::now() < end) {
      if (decides(key)) return true;
    }
    return false;
  }

 private:
  const RedisServer server_;
  const limit::Law law_;
  limit::Shared shared_;
  std::unique_ptr<RedisStore> store_;
};

void expect_recovery(Algorithm algorithm, bool is_leased) {
  Caller caller(algorithm, is_leased);
  ASSERT_TRUE(caller.decides_soon(-1));
  int failures = 0;
  for (bool happened = true; happened; ++failures) {
    // Keys of which nothing is known yet, so that Redis is asked.
    const int first = 3 * failures;
    const FailingAllocation failing(static_cast<std::size_t>(failures));
    for (int key = first; key < first + 3; ++key) caller.decides(key);
    happened = failing.happened();
    for (int key = first; key < first + 3; ++key) {
      ASSERT_TRUE(caller.decides_soon(key)) << "after failure " << failures;
    }
  }
  EXPECT_GT(failures, 5);
}

TEST(NoMemory, ScriptsAreSentAgainAfterwards) { expect_recovery(Algorithm::linear, false); }

TEST(NoMemory, StatesAreSwappedAgainAfterwards) {
  expect_recovery(Algorithm::sliding_window_counter, false);
}

TEST(NoMemory, StatesOfALogAreSwappedAgainAfterwards) {
  expect_recovery(Algorithm::moving_window, false);
  expect_recovery(Algorithm::concurrency, false);
}

TEST(NoMemory, LeasesAreTakenAgainAfterwards) { expect_recovery(Algorithm::linear, true); }

}  // namespace
}  // namespace headgate::redis
