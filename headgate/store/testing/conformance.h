// The test suite of the Store contract. Each store's tests instantiate it:
//
//   INSTANTIATE_TEST_SUITE_P(Table, StoreConformance, testing::Values(StoreUnderTest{...}));
//   INSTANTIATE_TEST_SUITE_P(Table, LawConformance, testing::Values(StoreUnderTest{...}));
//
// Linked into tests only.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "headgate/store/store.h"

namespace headgate::store {

struct StoreUnderTest {
  std::string name;
  std::unique_ptr<Store> (*make)();  // a store without state, with room for 100,000 keys
  // Why there can be none here, so that the tests are skipped; "" if there can.
  std::string (*obstacle)() = [] { return std::string(); };
};

inline void PrintTo(const StoreUnderTest& store, std::ostream* out) { *out << store.name; }

class StoreConformance : public testing::TestWithParam<StoreUnderTest> {
 protected:
  void SetUp() override {
    const std::string obstacle = GetParam().obstacle();
    if (!obstacle.empty()) GTEST_SKIP() << obstacle;
    store_ = GetParam().make();
  }

  // What take() returned for one bundle.
  struct Answer {
    bool admitted = false;
    std::vector<limit::Decision> decisions;
  };

  // Takes the charges as one bundle and waits for its completion.
  Answer take(const std::vector<Charge>& charges, Instant now);
  limit::Decision spend(const limit::Law& law, const std::string& key, std::uint64_t cost,
                        Instant now);

  std::unique_ptr<Store> store_;
};

// What Redis' module does not offer: windows of a calendar, and requests that wait.
class LawConformance : public StoreConformance {};

}  // namespace headgate::store
