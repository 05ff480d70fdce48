// The reference vectors: compares every field of every step, under each meaning of t.

#include "headgate/limit/testing/vectors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "headgate/limit/testing/key_state.h"

namespace headgate::limit {
namespace {

// A computed rate may differ from the exact one by a factor of 1e-9.
bool is_near(double got, double want) { return std::abs(got - want) <= 1e-9 * std::abs(want); }

void replay(const vectors::Sequence& sequence, const Terms& terms, const Law& law) {
  std::map<std::string, KeyState> keys;
  int number = 0;
  for (const vectors::Step& step : sequence.steps) {
    SCOPED_TRACE(sequence.id + " step " + std::to_string(number++));
    KeyState& key = keys[step.key];
    const KeyState before = key;
    const Decision got = key.take(law, step.op, step.cost, step.at);
    ASSERT_EQ(vectors::fault(sequence, terms, step, got), "");
    if (step.op == Op::spend) {
      ASSERT_EQ(before.admits(law, step.cost, step.at), got.admitted);
      const Decision peeked = KeyState(before).take(law, Op::peek, step.cost, step.at);
      if (step.cost == 0) {
        ASSERT_TRUE(peeked.admitted);
      } else {
        ASSERT_EQ(peeked, got);
      }
    }
    const auto& state = key.state<Exponential>();
    if (step.want.stored_rate && state) {
      ASSERT_PRED2(is_near, state->rate, *step.want.stored_rate);
    }
  }
}

struct File {
  const char* name;
  std::size_t steps;
};

void PrintTo(const File& file, std::ostream* out) { *out << file.name; }

class Vectors : public testing::TestWithParam<File> {};

TEST_P(Vectors, AreDecidedAsTheySay) {
  std::size_t steps = 0;
  for (const vectors::Sequence& sequence : vectors::load(GetParam().name)) {
    for (const Reset reset : {Reset::pace, Reset::next, Reset::full}) {
      Terms terms = sequence.terms;
      terms.reset = reset;
      const auto law = make_law(sequence.quota, terms);
      ASSERT_TRUE(law) << sequence.id;
      replay(sequence, terms, *law);
      // Policies of the narrow form are also supported by the wide one.
      if (terms.algorithm == Algorithm::linear && sequence.quota.units > 0) {
        replay(sequence, terms, LinearExact::make(sequence.quota, terms).value());
      }
      if (HasFatalFailure()) return;
    }
    steps += sequence.steps.size();
  }
  RecordProperty("steps", std::to_string(steps));
  EXPECT_EQ(steps, GetParam().steps);
}

INSTANTIATE_TEST_SUITE_P(All, Vectors,
                         testing::Values(File{"concurrency", 397}, File{"exponential_lenient", 569},
                                         File{"exponential_strict", 614}, File{"fixed_window", 929},
                                         File{"fixed_window_aligned", 923},
                                         File{"fixed_window_count_denied", 674},
                                         File{"linear_lenient", 970}, File{"linear_penalty", 834},
                                         File{"linear_strict", 891}, File{"moving_window_log", 916},
                                         File{"sliding_window_counter", 1066},
                                         File{"sliding_window_counter_clock", 814},
                                         File{"linear_bucket", 550}),
                         [](const auto& file) { return std::string(file.param.name); });

// What docs/algorithms.md says about the most units in any span as long as the window.
TEST(WidestSpans, AreThoseOfTheVectors) {
  for (const vectors::Sequence& sequence : vectors::load("widest_spans")) {
    const auto law = make_law(sequence.quota, sequence.terms);
    ASSERT_TRUE(law) << sequence.id;
    KeyState key;
    std::vector<std::pair<Nanos, std::uint64_t>> admitted;
    for (const vectors::Step& step : sequence.steps) {
      const Decision got = key.spend(*law, step.cost, step.at);
      ASSERT_EQ(vectors::fault(sequence, sequence.terms, step, got), "") << sequence.id;
      if (got.admitted) admitted.emplace_back(step.at.ns, step.cost);
    }
    std::uint64_t most = 0;
    for (const auto& [from, _] : admitted) {
      std::uint64_t units = 0;
      for (const auto& [at, cost] : admitted) {
        if (at >= from && at < from + sequence.quota.window) units += cost;
      }
      most = std::max(most, units);
    }
    EXPECT_EQ(most, sequence.widest) << sequence.id;
  }
}

}  // namespace
}  // namespace headgate::limit
