// The stores with which the gate's tests run: one that completes at once, and one that does so
// later.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <ostream>

#include "headgate/store/table.h"
#include "headgate/store/testing/deferred_store.h"

namespace headgate::gate {

enum class Completes { at_once, later };

inline void PrintTo(Completes when, std::ostream* out) {
  *out << (when == Completes::at_once ? "AtOnce" : "Later");
}

// Its clock stands still: tests pass all times.
class TestStore {
 public:
  TestStore(Completes when, store::TableOptions options) {
    options.clock = &store::ClockSource::still();
    table_ = store::Table::open(options).value();
    if (when == Completes::later) deferred_.emplace(*table_);
  }

  [[nodiscard]] store::Table& table() noexcept { return *table_; }
  [[nodiscard]] store::Store& store() noexcept {
    return deferred_ ? static_cast<store::Store&>(*deferred_) : *table_;
  }
  // REQUIRES: a store that completes later.
  [[nodiscard]] store::DeferredStore& deferred() noexcept { return *deferred_; }

  // Completes what is outstanding.
  void complete_all() {
    if (deferred_) deferred_->complete_all();
  }

  // A completion that this store has called, or not yet.
  class Answer {
   public:
    [[nodiscard]] store::Completion done() noexcept {
      return {[](void* count) noexcept { ++*static_cast<int*>(count); }, &count_};
    }
    [[nodiscard]] int count() const noexcept { return count_; }

   private:
    int count_ = 0;
  };

  // Expects that the completion is called once, and not before the store has been asked for the
  // last time.
  void complete(const Answer& answer) {
    EXPECT_EQ(answer.count(), deferred_ && deferred_->outstanding() > 0 ? 0 : 1);
    complete_all();
    EXPECT_EQ(answer.count(), 1);
  }

 private:
  std::unique_ptr<store::Table> table_;
  std::optional<store::DeferredStore> deferred_;
};

#define HEADGATE_WITH_EACH_STORE(suite)                                           \
  INSTANTIATE_TEST_SUITE_P(Completes, suite,                                      \
                           testing::Values(Completes::at_once, Completes::later), \
                           testing::PrintToStringParamName())

}  // namespace headgate::gate
