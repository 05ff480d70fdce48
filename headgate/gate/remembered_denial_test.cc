// A request of which the store knows that one policy denies it, and does not know what the others
// have left.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "headgate/gate/gate.h"
#include "headgate/policy/file/load.h"

namespace headgate::gate {
namespace {

using testing::HasSubstr;

// Denies the first charge from memory.
class RememberingStore final : public store::Store {
 public:
  [[nodiscard]] Instant now() const noexcept override { return {}; }
  [[nodiscard]] bool completes_at_once() const noexcept override { return true; }
  using Store::take;
  void take(std::span<store::Bundle> bundles, std::optional<Instant>& now,
            store::Completion done) noexcept override {
    for (store::Bundle& bundle : bundles) {
      for (limit::Decision& decision : bundle.decisions) decision = {.admitted = true};
      bundle.decisions[0] = {.remaining = 0, .reset = 7, .wait = 7 * nanos_per_second};
      bundle.remembered = true;
    }
    now = Instant{};
    done.call(done.context);
  }
};

TEST(RememberedDenial, OnlyThePolicyThatDeniesIsInTheFields) {
  const auto policies =
      policy::load_text(
          "version: 1\nstore: {redis: {nodes: [a:1]}}\npolicies: [{name: a, rate: 1/h}, {name: b, "
          "rate: 5/h}]\n",
          "test.yaml")
          .value();
  std::vector<PolicyCounts> counts(3);
  RememberingStore store;
  const Gate gate(policies, store, HashSecret{}, counts);
  DecisionContext context;
  policy::Request request;
  request.path = "/";
  gate.admit(request, std::nullopt, DryRun::no, context);
  const Verdict& verdict = context.verdict;
  EXPECT_EQ(verdict.outcome, Outcome::denied);
  EXPECT_EQ(verdict.status(), 429U);
  EXPECT_EQ(verdict.retry_after, 7U);
  EXPECT_EQ(verdict.remaining, 0U);
  ASSERT_EQ(verdict.items.size(), 1U);
  EXPECT_EQ(verdict.items[0].policy, 0U);
  EXPECT_EQ(counts[0].denied, 1U);
  EXPECT_EQ(counts[0].outage, 0U);
  EXPECT_EQ(counts[1].admitted, 0U);

  const std::array<Check, 2> checks{Check{"a", "x", 1}, Check{"b", "x", 1}};
  EXPECT_FALSE(gate.decide(checks, limit::Op::spend, std::nullopt, context));
  EXPECT_EQ(context.results[0].decision.reset, 7U);
  EXPECT_EQ(context.results[1].decision.remaining, 0U);
  EXPECT_EQ(context.results[1].decision.reset, limit::Decision::no_reset);
  EXPECT_FALSE(context.results[1].outage);
}

}  // namespace
}  // namespace headgate::gate
