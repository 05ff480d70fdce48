// Decisions on named policies, and that they are the same as those on requests.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "headgate/gate/gate.h"
#include "headgate/gate/table_options.h"
#include "headgate/gate/testing/policies.h"
#include "headgate/gate/testing/test_store.h"

namespace headgate::gate {
namespace {

using limit::Op;

class NoHeaders final : public policy::Headers {
 public:
  std::optional<std::string_view> line(std::string_view, std::size_t) const noexcept override {
    return std::nullopt;
  }
};

class TestGate {
 public:
  TestGate(Completes when, const std::string& policies) {
    const auto set = loaded("policies:\n" + policies);
    auto options = table_options(*set);
    options.memory = 1 << 20;
    store_.emplace(when, options);
    counts = std::vector<PolicyCounts>(set->policies().size() + 1);
    gate_ = std::make_unique<Gate>(set, store_->store(), store_->table().secret(), counts);
    now = store_->table().now();
  }

  std::optional<CheckFault> decide(std::vector<Check> checks, Op op = Op::spend) {
    TestStore::Answer answer;
    const auto fault = gate_->decide(checks, op, now, context, answer.done());
    checks.clear();  // they need not last until the answer
    if (fault) {
      EXPECT_EQ(answer.count(), 0);
    } else {
      store_->complete(answer);
    }
    return fault;
  }

  std::optional<CheckFault> inspect(std::string_view policy, std::string_view key,
                                    Refill refill = Refill::no) {
    TestStore::Answer answer;
    const auto fault = gate_->inspect(policy, key, refill, now, context, answer.done());
    if (!fault) store_->complete(answer);
    return fault;
  }

  // r of every check; -1 if it is denied.
  std::vector<int> left() const {
    std::vector<int> all;
    for (const CheckResult& result : context.results) {
      all.push_back(result.decision.admitted ? static_cast<int>(result.decision.remaining) : -1);
    }
    return all;
  }

  Outcome request() {
    const NoHeaders headers;
    policy::Request request;
    request.method = "GET";
    request.path = "/";
    request.peer = policy::Address::parse("192.0.2.1");
    request.headers = &headers;
    gate_->admit(request, now, DryRun::no, context);
    store_->complete_all();
    return context.verdict.outcome;
  }

  std::string ratelimit() {
    std::array<char, 4096> room;
    Writer out(room);
    for (const Line& line : gate_->field_writer().write(context.verdict.items, out)) {
      if (line.name == "RateLimit") return std::string(line.value);
    }
    return {};
  }

  Instant now;
  DecisionContext context;
  std::vector<PolicyCounts> counts;

 private:
  std::optional<TestStore> store_;
  std::unique_ptr<Gate> gate_;
};

class Decide : public testing::TestWithParam<Completes> {};
HEADGATE_WITH_EACH_STORE(Decide);

constexpr const char* two = R"(
  - {name: burst, quota: 3, window: 60s}
  - {name: daily, quota: 10, window: 1d}
)";

TEST_P(Decide, SpendsTheBucketThatRequestsSpend) {
  TestGate gate(GetParam(), two);
  EXPECT_EQ(gate.request(), Outcome::admitted);
  ASSERT_EQ(gate.decide({{"burst", "192.0.2.1"}}), std::nullopt);
  EXPECT_THAT(gate.left(), testing::ElementsAre(1));
  EXPECT_EQ(gate.request(), Outcome::admitted);
  EXPECT_EQ(gate.request(), Outcome::denied);
}

TEST_P(Decide, ResultsAreInTheOrderOfTheChecks) {
  TestGate gate(GetParam(), two);
  ASSERT_EQ(gate.decide({{"daily", "a", 2}, {"burst", "a"}}), std::nullopt);
  EXPECT_THAT(gate.left(), testing::ElementsAre(8, 2));
  EXPECT_EQ(gate.ratelimit(), R"("daily";r=8;t=69120, "burst";r=2;t=40)");
}

TEST_P(Decide, TakesAllOrNone) {
  TestGate gate(GetParam(), two);
  ASSERT_EQ(gate.decide({{"burst", "a"}, {"daily", "a", 11}}), std::nullopt);
  EXPECT_EQ(gate.context.verdict.outcome, Outcome::denied);
  EXPECT_EQ(gate.context.verdict.denier->name, "daily");
  EXPECT_EQ(gate.context.verdict.retry_after, std::nullopt) << "no time helps";
  ASSERT_EQ(gate.decide({{"burst", "a", 0}}, Op::peek), std::nullopt);
  EXPECT_THAT(gate.left(), testing::ElementsAre(3));
}

TEST_P(Decide, PeeksChargeAndCountNothing) {
  TestGate gate(GetParam(), two);
  ASSERT_EQ(gate.decide({{"burst", "a", 2}}, Op::peek), std::nullopt);
  EXPECT_THAT(gate.left(), testing::ElementsAre(1)) << "as spending 2 would leave";
  ASSERT_EQ(gate.decide({{"burst", "a", 4}}, Op::peek), std::nullopt);
  EXPECT_THAT(gate.left(), testing::ElementsAre(-1));
  ASSERT_EQ(gate.decide({{"burst", "a", 0}}, Op::peek), std::nullopt);
  EXPECT_THAT(gate.left(), testing::ElementsAre(3));
  EXPECT_EQ(gate.counts[0].admitted + gate.counts[0].denied, 0u);
  EXPECT_EQ(gate.counts.back().admitted + gate.counts.back().denied, 0u);
}

TEST_P(Decide, RefundsGiveBack) {
  TestGate gate(GetParam(), two);
  ASSERT_EQ(gate.decide({{"burst", "a", 3}}), std::nullopt);
  ASSERT_EQ(gate.decide({{"burst", "a", 2}}, Op::refund), std::nullopt);
  EXPECT_THAT(gate.left(), testing::ElementsAre(2));
  EXPECT_EQ(gate.counts[0].admitted, 1u);
  EXPECT_EQ(gate.counts[0].refunded, 1u);
  EXPECT_EQ(gate.counts.back().admitted, 1u) << "a refund is no request";
  EXPECT_EQ(gate.counts.back().refunded, 0u);
}

TEST_P(Decide, ShadowPoliciesDecideWithoutDenying) {
  TestGate gate(GetParam(), R"(
  - {name: trial, quota: 1, window: 60s, mode: shadow}
  - {name: burst, quota: 3, window: 60s}
)");
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(gate.decide({{"trial", "a"}, {"burst", "a"}}), std::nullopt);
  }
  EXPECT_EQ(gate.context.verdict.outcome, Outcome::shadow_denied);
  EXPECT_THAT(gate.left(), testing::ElementsAre(-1, 1));
  EXPECT_EQ(gate.ratelimit(), R"("burst";r=1;t=20)");
}

// For the key b the candidate is in force (from 20% on), for a it is not (from 90% on).
constexpr const char* with_candidate = R"(
  - {name: burst, quota: 2, window: 60s, candidate: {quota: 4, share: 50%}}
  - {name: daily, quota: 10, window: 1d}
)";

TEST_P(Decide, ACheckIsAnsweredByTheNumbersInForce) {
  TestGate gate(GetParam(), with_candidate);
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(gate.decide({{"burst", "a"}, {"daily", "a"}, {"burst", "b"}}), std::nullopt);
  }
  EXPECT_EQ(gate.context.verdict.outcome, Outcome::denied);
  EXPECT_THAT(gate.left(), testing::ElementsAre(-1, 8, 2));
  ASSERT_EQ(gate.context.results.size(), 3u);
  EXPECT_EQ(gate.context.results[2].name, "burst");
  EXPECT_EQ(gate.context.results[2].partition, "b");
  EXPECT_TRUE(gate.context.results[2].enforced());
  EXPECT_EQ(gate.ratelimit(), R"("burst";r=0;t=30, "daily";r=8;t=69120, "burst";r=2;t=30)");
  EXPECT_EQ(gate.counts[0].admitted, 2u + 2u) << "of b as if alone";
  EXPECT_EQ(gate.counts[0].shadow_denied, 1u);
  EXPECT_EQ(gate.counts[1].admitted, 3u + 2u) << "of a as if alone";
}

TEST_P(Decide, TheNameOfACandidateStandsForItAlone) {
  TestGate gate(GetParam(), with_candidate);
  ASSERT_EQ(gate.decide({{"burst (candidate)", "a", 3}}), std::nullopt);
  EXPECT_THAT(gate.left(), testing::ElementsAre(1));
  EXPECT_EQ(gate.context.results[0].name, "burst (candidate)");
  EXPECT_FALSE(gate.context.results[0].enforced());
  EXPECT_EQ(gate.counts[0].admitted, 0u);
  ASSERT_EQ(gate.decide({{"burst", "a", 0}}, Op::peek), std::nullopt);
  EXPECT_THAT(gate.left(), testing::ElementsAre(2));
  for (const char* key : {"a", "b"}) {
    const auto fault = gate.decide({{"burst", key}, {"burst (candidate)", key}});
    ASSERT_TRUE(fault) << "burst counts for both";
    EXPECT_EQ(fault->reason, CheckFault::Reason::asked_twice);
  }
}

TEST_P(Decide, BothNumbersGetARefundAndAFullQuota) {
  TestGate gate(GetParam(), with_candidate);
  const auto left = [&](const char* policy) {
    EXPECT_EQ(gate.decide({{policy, "b", 0}}, Op::peek), std::nullopt);
    return gate.left();
  };
  const char* const own = "burst";
  const char* const candidate = "burst (candidate)";
  ASSERT_EQ(gate.decide({{own, "b", 2}}), std::nullopt);
  ASSERT_EQ(gate.decide({{own, "b"}}, Op::refund), std::nullopt);
  EXPECT_THAT(gate.left(), testing::ElementsAre(3));
  EXPECT_EQ(gate.counts[0].refunded, 1u);
  EXPECT_EQ(gate.counts[1].refunded, 1u);
  ASSERT_EQ(gate.decide({{own, "b"}}), std::nullopt);
  ASSERT_EQ(gate.decide({{own, "b"}}), std::nullopt);
  EXPECT_EQ(gate.context.verdict.outcome, Outcome::shadow_denied);
  EXPECT_THAT(left(candidate), testing::ElementsAre(1));
  ASSERT_EQ(gate.inspect(own, "b"), std::nullopt);
  EXPECT_THAT(gate.left(), testing::ElementsAre(1, 0, -1)) << "the numbers in force";
  EXPECT_EQ(gate.context.results[0].name, own);
  ASSERT_EQ(gate.inspect(own, "b", Refill::yes), std::nullopt);
  EXPECT_THAT(gate.left(), testing::ElementsAre(4, 3, 0));
  ASSERT_EQ(gate.decide({{own, "b", 2}}), std::nullopt);
  EXPECT_EQ(gate.context.verdict.outcome, Outcome::admitted) << "also by what is not in force";
}

// One that is counted under another window than its key's own has a bucket of its own.
TEST_P(Decide, AFullQuotaIsAlsoForWhatIsCountedUnderOtherNumbers) {
  TestGate gate(GetParam(), R"(
  - name: paths
    quota: 2
    window: 60s
    key: path
    candidate: {quota: 1, share: 0%}
    overrides: [{ids: [/Admin], quota: 100, window: 1h}, {ids: [/Other], quota: 50, window: 2h}]
)");
  for (const char* const path : {"/admin", "/Admin"}) {
    ASSERT_EQ(gate.decide({{"paths", path, 2}}), std::nullopt);
  }
  EXPECT_THAT(gate.left(), testing::ElementsAre(98));
  ASSERT_EQ(gate.inspect("paths", "/Admin", Refill::yes), std::nullopt);
  EXPECT_THAT(gate.left(), testing::ElementsAre(100, 99, 0));
  for (const char* const path : {"/admin", "/Admin"}) {
    ASSERT_EQ(gate.decide({{"paths", path, 1}}), std::nullopt);
    EXPECT_EQ(gate.context.verdict.outcome, Outcome::admitted);
  }
}

TEST_P(Decide, AFullQuotaIsAlsoForTheOtherSpellingsOfAPath) {
  for (const char* const override : {"quota: 10, window: 1h", "quota: unlimited"}) {
    TestGate gate(GetParam(), std::string("  - {name: paths, quota: 2, window: 60s, key: path, "
                                          "overrides: [{ids: [/Admin], ") +
                                  override + "}]}\n");
    const auto takes_all = [&] {
      bool all = gate.decide({{"paths", "/admin", 2}}) == std::nullopt &&
                 gate.context.verdict.outcome != Outcome::denied;
      for (int i = 0; i < 10; ++i) {
        all = all && gate.decide({{"paths", "/Admin"}}) == std::nullopt &&
              gate.context.verdict.outcome != Outcome::denied;
      }
      return all;
    };
    EXPECT_TRUE(takes_all());
    EXPECT_FALSE(takes_all());
    for (const char* const path : {"/admin", "/Admin"}) {
      ASSERT_EQ(gate.inspect("paths", path, Refill::yes), std::nullopt);
      EXPECT_TRUE(gate.context.results[0].decision.admitted);
      EXPECT_TRUE(takes_all()) << override << ", by " << path;
    }
  }
}

TEST_P(Decide, OfTooManyChecksTheNumbersInForceDecide) {
  TestGate gate(GetParam(), with_candidate);
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < policy::policies_per_request_max; ++i) {
    keys.push_back("k" + std::to_string(i));
  }
  std::vector<Check> checks;
  for (const std::string& key : keys) checks.push_back({"burst", key});
  ASSERT_EQ(gate.decide(checks), std::nullopt);
  EXPECT_EQ(gate.context.verdict.outcome, Outcome::admitted);
  EXPECT_EQ(gate.counts[0].admitted + gate.counts[1].admitted, checks.size());
  checks.pop_back();
  ASSERT_EQ(gate.decide(checks), std::nullopt);
  EXPECT_EQ(gate.counts[0].admitted + gate.counts[1].admitted, 2 * checks.size() + 2);
}

TEST_P(Decide, UnlimitedChecksAreAdmittedAndMarked) {
  TestGate gate(GetParam(), R"(
  - {name: sleeping, quota: 1, window: 60s, mode: off}
  - {name: burst, quota: 1, window: 60s, overrides: [{ids: ["192.0.2.9"], quota: unlimited}]}
)");
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(gate.decide({{"sleeping", "a"}, {"burst", "192.0.2.9"}}), std::nullopt);
    EXPECT_TRUE(gate.context.results[0].decision.admitted);
    EXPECT_FALSE(gate.context.results[0].limited);
    EXPECT_TRUE(gate.context.results[1].decision.admitted);
    EXPECT_FALSE(gate.context.results[1].limited);
    EXPECT_EQ(gate.context.verdict.outcome, Outcome::off);
  }
}

TEST_P(Decide, ALateCostMayExceedWhatIsLeft) {
  TestGate gate(GetParam(), R"(
  - {name: tokens, quota: 10, window: 10s, cost: {response-header: x-tokens}, unit: tokens}
)");
  ASSERT_EQ(gate.decide({{"tokens", "a", 15}}), std::nullopt);
  EXPECT_TRUE(gate.context.results[0].decision.admitted);
  EXPECT_EQ(gate.ratelimit(), R"("tokens";r=0;t=6)") << "the debt is reported";
  ASSERT_EQ(gate.decide({{"tokens", "a", 1}}), std::nullopt);
  EXPECT_THAT(gate.left(), testing::ElementsAre(-1));
}

TEST_P(Decide, APeekUnderALateCostIsAdmittedAsASpendWouldBe) {
  TestGate gate(GetParam(), R"(
  - {name: tokens, quota: 10, window: 10s, cost: {response-header: x-tokens}, unit: tokens}
)");
  for (const int left : {10, 2, 0}) {
    for (const std::uint64_t cost : {1, 5, 15}) {
      ASSERT_EQ(gate.decide({{"tokens", "a", cost}}, Op::peek), std::nullopt);
      EXPECT_THAT(gate.left(), testing::ElementsAre(left - 1)) << cost;
    }
    ASSERT_EQ(gate.decide({{"tokens", "a", 0}}, Op::peek), std::nullopt);
    EXPECT_THAT(gate.left(), testing::ElementsAre(left));
    ASSERT_EQ(gate.decide({{"tokens", "a", 0}}), std::nullopt) << "costs nothing";
    EXPECT_THAT(gate.left(), testing::ElementsAre(left));
    ASSERT_EQ(gate.decide({{"tokens", "a", 8}}), std::nullopt);
    EXPECT_EQ(gate.context.results[0].decision.admitted, left > 0);
  }
  ASSERT_EQ(gate.inspect("tokens", "a"), std::nullopt);
  EXPECT_EQ(gate.context.results[2].decision.wait, 16 * nanos_per_second) << "until it is full";
}

TEST_P(Decide, ReportsTheFaultyCheckAndChangesNothing) {
  TestGate gate(GetParam(), two);
  using Reason = CheckFault::Reason;
  auto fault = gate.decide({{"burst", "a"}, {"brust", "a"}});
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->check, 1u);
  EXPECT_EQ(fault->reason, Reason::unknown_policy);
  fault = gate.decide({{"burst", "a"}, {"daily", "a"}, {"burst", "a"}});
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->check, 2u);
  EXPECT_EQ(fault->reason, Reason::asked_twice);
  fault = gate.decide(std::vector<Check>(policy::policies_per_request_max + 1));
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->reason, Reason::too_many);
  ASSERT_EQ(gate.decide({{"burst", "a", 0}}, Op::peek), std::nullopt);
  EXPECT_THAT(gate.left(), testing::ElementsAre(3)) << "nothing was spent by those";
}

TEST_P(Decide, InspectsAPartitionWithoutTakingAnything) {
  TestGate gate(GetParam(), two);
  ASSERT_EQ(gate.decide({{"burst", "a", 2}}), std::nullopt);
  ASSERT_EQ(gate.inspect("burst", "a"), std::nullopt);
  EXPECT_THAT(gate.left(), testing::ElementsAre(1, 0, -1));
  EXPECT_EQ(gate.context.results[2].decision.wait, 40 * nanos_per_second) << "then it is full";
  ASSERT_EQ(gate.decide({{"burst", "a"}}), std::nullopt);
  ASSERT_EQ(gate.inspect("burst", "a"), std::nullopt);
  EXPECT_THAT(gate.left(), testing::ElementsAre(0, -1, -1));
  EXPECT_EQ(gate.context.results[1].decision.wait, 20 * nanos_per_second);
  EXPECT_EQ(gate.context.results[2].decision.wait, 60 * nanos_per_second);
  EXPECT_EQ(gate.counts[0].denied.load(), 0u) << "no request was denied";
  EXPECT_EQ(gate.inspect("brust", "a")->reason, CheckFault::Reason::unknown_policy);
}

TEST_P(Decide, AnInspectionSaysWhenTheQuotaIsFullUnderEveryLaw) {
  struct Case {
    const char* numbers;
    Nanos least = 1;  // so long before [ns], the quota is not full yet
  };
  constexpr Nanos second = nanos_per_second;
  for (const Case& of : {
           Case{"quota: 5, window: 10s"},
           Case{"quota: 5, window: 7s, reset: next"},
           Case{"burst: 5, count: 3, period: 10s"},
           Case{"quota: 5, window: 10s, cost: {response-header: x}"},
           Case{"quota: 5, window: 10s, delay: 30s"},
           Case{"quota: 5, window: 10s, algorithm: fixed-window"},
           Case{"quota: 5, window: 10s, algorithm: fixed-window, aligned: true"},
           Case{"quota: 5, window: 10s, algorithm: fixed-window, denied: spend"},
           Case{"quota: 5, window: 10s, algorithm: moving-window"},
           Case{"quota: 5, window: 10s, algorithm: sliding-window-counter"},
           // Whole seconds: this law finds times by a search over them,
           Case{"quota: 5, window: 10s, algorithm: exponential", second},
           Case{"quota: 5, window: 10s, algorithm: exponential, denied: spend", second},
           // and here a wait would include the cost of a denial.
           Case{"quota: 5, window: 10s, denied: spend", second},
           Case{"quota: 5, window: 10s, denied: {penalty: 15s}", second},
       }) {
    TestGate gate(GetParam(), std::string("  - {name: p, ") + of.numbers + "}\n");
    const auto is_full_at = [&](Nanos ns) {
      gate.now = Instant{ns};
      EXPECT_EQ(gate.decide({{"p", "a", 0}}, Op::peek), std::nullopt);
      return gate.left()[0] == 5;
    };
    for (const Nanos pause : {Nanos{0}, Nanos{1'234'567'891}, 10 * second + 1}) {
      for (int i = 0; i < 7; ++i) ASSERT_EQ(gate.decide({{"p", "a"}}), std::nullopt);
      gate.now.ns += pause;
      const Nanos now = gate.now.ns;
      ASSERT_EQ(gate.inspect("p", "a"), std::nullopt);
      const Nanos full = gate.context.results[2].decision.wait;
      EXPECT_EQ(is_full_at(now + full - of.least), full == 0) << of.numbers;
      EXPECT_TRUE(is_full_at(now + full)) << of.numbers;
    }
  }
}

TEST_P(Decide, AnInspectionOfAPolicyWithADelaySaysThatARequestWaits) {
  TestGate gate(GetParam(), R"(
  - {name: a, quota: 1, window: 2s, delay: 3s}
  - {name: trial, quota: 1, window: 2s, delay: 3s, mode: shadow}
)");
  const auto look = [&](const char* policy) {
    EXPECT_EQ(gate.inspect(policy, "k"), std::nullopt);
    return gate.context.results[1].decision;
  };
  EXPECT_EQ(look("a").wait, 0);
  gate.context.waits = Waits::elsewhere;
  ASSERT_EQ(gate.decide({{"a", "k"}, {"trial", "k"}}), std::nullopt);
  EXPECT_TRUE(look("a").admitted);
  EXPECT_EQ(look("a").wait, 2 * nanos_per_second);
  EXPECT_THAT(gate.left(), testing::ElementsAre(0, 0, -1));
  EXPECT_FALSE(look("trial").admitted) << "a policy in shadow mode delays nothing";
  EXPECT_EQ(look("trial").wait, 2 * nanos_per_second);
  ASSERT_EQ(gate.decide({{"a", "k"}}), std::nullopt);
  EXPECT_FALSE(look("a").admitted) << "longer than the delay";
  EXPECT_EQ(look("a").wait, 4 * nanos_per_second);
  EXPECT_EQ(gate.context.results[2].decision.wait, 4 * nanos_per_second) << "until it is full";
}

TEST_P(Decide, RefillsAPartition) {
  TestGate gate(GetParam(), R"(
  - {name: strict, quota: 3, window: 60s, denied: {penalty: 1h}}
)");
  for (int i = 0; i < 5; ++i) ASSERT_EQ(gate.decide({{"strict", "a"}}), std::nullopt);
  ASSERT_EQ(gate.inspect("strict", "a"), std::nullopt);
  EXPECT_THAT(gate.left(), testing::ElementsAre(0, -1, -1));
  ASSERT_EQ(gate.inspect("strict", "a", Refill::yes), std::nullopt);
  EXPECT_THAT(gate.left(), testing::ElementsAre(3, 2, 0));
  ASSERT_EQ(gate.decide({{"strict", "a", 3}}), std::nullopt);
  EXPECT_THAT(gate.left(), testing::ElementsAre(0));
}

}  // namespace
}  // namespace headgate::gate
