// Costs that are reserved when the request comes, and settled when its response has ended.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headgate/gate/gate.h"
#include "headgate/gate/table_options.h"
#include "headgate/gate/testing/policies.h"
#include "headgate/gate/testing/test_store.h"

namespace headgate::gate {
namespace {

using limit::Op;
using testing::ElementsAre;

constexpr Nanos second = nanos_per_second;

using Costs = std::vector<std::optional<std::uint64_t>>;

// What a caller keeps of a request or reservation: copies, because the context is used again.
struct Kept {
  Instant taken;
  std::vector<Due> dues;
  std::vector<std::shared_ptr<const std::string>> keys;
  std::string id;
  bool elsewhere = false;

  explicit Kept(const DecisionContext& context) : taken(context.now) {
    for (Due due : context.verdict.dues) {
      due.key = *keys.emplace_back(std::make_shared<const std::string>(due.key));
      dues.push_back(due);
    }
  }
};

class TestGate {
 public:
  TestGate(Completes when, const std::string& policies) {
    const auto set = loaded("policies:\n" + policies);
    auto options = table_options(*set);
    options.memory = 1 << 20;
    store_.emplace(when, options);
    counts_ = std::vector<PolicyCounts>(2 * (set->policies().size() + 1));
    gate_ = std::make_unique<Gate>(set, store_->store(), store_->table().secret(), counts_);
    now = store_->table().now();
  }

  // std::nullopt: denied.
  std::optional<Kept> send(const std::string& most = "") {
    FakeHeaders headers;
    if (!most.empty()) headers.lines["x-most"] = most;
    policy::Request request;
    request.method = "GET";
    request.path = "/";
    request.peer = policy::Address::parse("192.0.2.1");
    request.headers = &headers;
    TestStore::Answer answer;
    gate_->admit(request, now, DryRun::no, context, answer.done());
    store_->complete(answer);
    if (context.verdict.outcome == Outcome::denied) return std::nullopt;
    return Kept(context);
  }

  // The response to a request has ended. "": it does not say its cost.
  void end(const Kept& kept, const std::string& tokens, unsigned status = 200) {
    FakeHeaders headers;
    if (!tokens.empty()) headers.lines["x-tokens"] = tokens;
    gate_->settle(kept.dues, kept.taken, {status, 0, &headers}, now);
    store_->complete_all();
  }

  // The same for a response with JSON.
  void end_json(const Kept& kept, std::uint64_t tokens, bool is_whole) {
    class Numbers final : public policy::BodyNumbers {
     public:
      explicit Numbers(std::uint64_t number) : number_(number) {}
      std::optional<std::uint64_t> number(std::string_view) const noexcept override {
        return number_;
      }

     private:
      std::uint64_t number_;
    };
    const Numbers numbers(tokens);
    policy::Response response;
    response.status = 200;
    response.numbers = &numbers;
    response.is_whole = is_whole;
    gate_->settle(kept.dues, kept.taken, response, now);
    store_->complete_all();
  }

  std::optional<Kept> reserve(std::vector<Check> checks, const std::string& id = "one") {
    TestStore::Answer answer;
    EXPECT_EQ(gate_->reserve(checks, now, context, answer.done()), std::nullopt);
    checks.clear();
    store_->complete(answer);
    if (context.verdict.outcome == Outcome::denied) return std::nullopt;
    Kept kept(context);
    kept.id = id;
    return kept;
  }

  Settled settle(const Kept& kept, const Costs& costs) {
    // Copies, none of which has to last.
    std::string id = kept.id;
    std::vector<Due> dues = kept.dues;
    std::vector<std::string> keys;
    for (const Due& due : dues) keys.emplace_back(due.key);
    for (std::size_t i = 0; i < dues.size(); ++i) dues[i].key = keys[i];
    Costs given = costs;
    TestStore::Answer answer;
    EXPECT_TRUE(gate_->settle({id, kept.taken, dues, {}, kept.elsewhere}, given, now, context,
                              answer.done()));
    keys.clear();
    dues.clear();
    given.clear();
    id.assign(id.size(), 'x');
    store_->complete(answer);
    return context.settled;
  }

  // r of a policy's partition.
  std::uint64_t left(const std::string& policy, const std::string& key = "192.0.2.1") {
    const Check check{policy, key, 0};
    EXPECT_EQ(gate_->decide({&check, 1}, Op::peek, now, context), std::nullopt);
    store_->complete_all();
    return context.results[0].decision.remaining;
  }

  // Spends a unit for so many keys of a policy.
  void flood(const std::string& policy, int keys) {
    for (int i = 0; i < keys; ++i) {
      const std::string key = std::to_string(i);
      const Check check{policy, key, 1};
      ASSERT_EQ(gate_->decide({&check, 1}, Op::spend, now, context), std::nullopt);
      store_->complete_all();
    }
  }

  std::uint64_t defaulted() const {
    std::uint64_t sum = 0;
    for (const PolicyCounts& counts : counts_) sum += counts.cost_defaulted.load();
    return sum;
  }

  Instant now;
  DecisionContext context;

 private:
  std::optional<TestStore> store_;
  std::vector<PolicyCounts> counts_;
  std::unique_ptr<Gate> gate_;
};

class ReserveTest : public testing::TestWithParam<Completes> {};
HEADGATE_WITH_EACH_STORE(ReserveTest);

constexpr const char* tokens = R"(
  - {name: tokens, quota: 1000, window: 1h, unit: tokens, refund-on: 5xx,
     cost: {reserve: 100, settle: {response-header: x-tokens}}}
)";

TEST_P(ReserveTest, AnOverEstimateIsGivenBack) {
  TestGate gate(GetParam(), tokens);
  const auto request = gate.send();
  EXPECT_EQ(gate.left("tokens"), 900u);
  gate.end(*request, "30");
  EXPECT_EQ(gate.left("tokens"), 970u);
}

TEST_P(ReserveTest, AnUnderEstimateIsChargedLate) {
  TestGate gate(GetParam(), tokens);
  const auto request = gate.send();
  gate.end(*request, "1300");
  EXPECT_EQ(gate.left("tokens"), 0u);
  EXPECT_FALSE(gate.send());
  // 300 are owed; a unit comes back each 3.6 s.
  gate.now.ns += 400 * 3600 * second / 1000;
  EXPECT_TRUE(gate.send()) << "the debt and what is reserved have come back";
  EXPECT_EQ(gate.left("tokens"), 0u);
}

TEST_P(ReserveTest, WhatIsNeverSettledStaysCharged) {
  TestGate gate(GetParam(), tokens);
  gate.end(*gate.send(), "");
  EXPECT_EQ(gate.left("tokens"), 900u);
  EXPECT_EQ(gate.defaulted(), 1u);
  gate.end(*gate.send(), "many");
  EXPECT_EQ(gate.left("tokens"), 800u);
}

TEST_P(ReserveTest, AResponseInRefundOnCostsNothing) {
  TestGate gate(GetParam(), tokens);
  gate.end(*gate.send(), "", 503);
  EXPECT_EQ(gate.left("tokens"), 1000u) << "its cost is not known, but refund-on says it";
}

TEST_P(ReserveTest, OfAResponseThatEndsEarlyTheNumberIsTheLeast) {
  TestGate gate(GetParam(), R"(
  - {name: tokens, quota: 1000, window: 1h, algorithm: fixed-window,
     cost: {reserve: 100, settle: {response-json: usage.total_tokens}}}
)");
  gate.end_json(*gate.send(), 30, false);
  EXPECT_EQ(gate.left("tokens"), 900u);
  gate.end_json(*gate.send(), 400, false);
  EXPECT_EQ(gate.left("tokens"), 500u);
  gate.end_json(*gate.send(), 30, true);
  EXPECT_EQ(gate.left("tokens"), 470u);
}

TEST_P(ReserveTest, RequestsAtTheSameTimeSeeEachOther) {
  TestGate gate(GetParam(), tokens);
  std::vector<Kept> admitted;
  for (int i = 0; i < 64; ++i) {
    if (auto request = gate.send()) admitted.push_back(*std::move(request));
  }
  EXPECT_EQ(admitted.size(), 10u);
  for (const Kept& request : admitted) gate.end(request, "90");
  EXPECT_EQ(gate.left("tokens"), 100u);
}

TEST_P(ReserveTest, AHeaderOfTheRequestSaysWhatToReserve) {
  TestGate gate(GetParam(), R"(
  - {name: tokens, quota: 1000, window: 1h,
     cost: {reserve: {request-header: x-most}, settle: {response-header: x-tokens}}}
)");
  const auto request = gate.send("400");
  EXPECT_EQ(gate.left("tokens"), 600u);
  EXPECT_FALSE(gate.send("601"));
  gate.end(*request, "10");
  EXPECT_EQ(gate.left("tokens"), 990u);
}

TEST_P(ReserveTest, AllPoliciesAreTakenOrNone) {
  TestGate gate(GetParam(), R"(
  - {name: minute, quota: 150, window: 60s, algorithm: fixed-window,
     cost: {reserve: 100, settle: {response-header: x-tokens}}}
  - {name: day, quota: 1000, window: 1d, algorithm: moving-window,
     cost: {reserve: 100, settle: {response-header: x-tokens}}}
)");
  const auto request = gate.send();
  EXPECT_FALSE(gate.send());
  EXPECT_EQ(gate.left("minute"), 50u);
  EXPECT_EQ(gate.left("day"), 900u) << "nothing was taken for the denied request";
  gate.end(*request, "20");
  EXPECT_EQ(gate.left("minute"), 130u);
  EXPECT_EQ(gate.left("day"), 980u);
}

// Requests that take 50 units, which a status of 500 and a header of 0 give back.
constexpr std::array costs_that_come_back{
    "cost: {reserve: 50, settle: {response-header: x-tokens}}", "cost: 50, refund-on: 5xx"};

// A law gives each unit back once: what has come back by itself is not given back again.
TEST_P(ReserveTest, ALateSettlementGivesNothingTwice) {
  for (const std::string cost : costs_that_come_back) {
    for (const std::string algorithm :
         {"linear", "fixed-window", "moving-window", "sliding-window-counter", "exponential"}) {
      TestGate gate(GetParam(), "  - {name: tokens, quota: 100, window: 100s, algorithm: " +
                                    algorithm + ", " + cost + "}\n");
      const auto request = gate.send();
      gate.now.ns += 201 * second;
      ASSERT_TRUE(gate.send()) << algorithm;
      const std::uint64_t left = gate.left("tokens");
      gate.end(*request, "0", 500);
      EXPECT_EQ(gate.left("tokens"), left) << algorithm << ", " << cost;
    }
  }
}

TEST_P(ReserveTest, UnderTheLinearLawWhatHasComeBackSinceIsNotGivenBack) {
  for (const std::string cost : costs_that_come_back) {
    TestGate gate(GetParam(), "  - {name: tokens, quota: 100, window: 100s, " + cost + "}\n");
    const auto slow = gate.send();
    gate.now.ns += 40 * second;  // 40 of the 50 units are back
    ASSERT_TRUE(gate.send());
    EXPECT_EQ(gate.left("tokens"), 40u);
    gate.end(*slow, "0", 500);
    EXPECT_EQ(gate.left("tokens"), 50u) << "the last 10 of the first request; " << cost;
  }
}

TEST_P(ReserveTest, AnEstimateIsLearntFromSettledCosts) {
  TestGate gate(GetParam(), R"(
  - {name: tokens, quota: 10000, window: 1h, algorithm: fixed-window, refund-on: 5xx,
     cost: {reserve: {estimate: 90%}, settle: {response-header: x-tokens}}}
)");
  const auto first = gate.send();
  EXPECT_EQ(gate.left("tokens"), 9900u) << "a hundredth of the quota";
  gate.end(*gate.send(), "");  // unknown, so there is nothing to learn
  gate.end(*gate.send(), "40", 500);
  EXPECT_EQ(gate.left("tokens"), 9800u);
  gate.end(*first, "250");
  EXPECT_EQ(gate.left("tokens"), 9650u);
  const auto second_one = gate.send();
  EXPECT_EQ(gate.left("tokens"), 9400u) << "the largest cost so far";
  gate.end(*second_one, "20000");
  gate.now.ns += 2 * 3600 * second;
  EXPECT_TRUE(gate.send()) << "never more than the quota, which would deny every request";
  EXPECT_EQ(gate.left("tokens"), 0u);
}

constexpr const char* two = R"(
  - {name: minute, quota: 1000, window: 60s, cost: {reserve: 70, settle: response-bytes}}
  - {name: day, quota: 5000, window: 1d}
  - {name: slots, algorithm: concurrency, quota: 2}
)";

TEST_P(ReserveTest, AReservationIsSettledOnce) {
  TestGate gate(GetParam(), two);
  const auto kept = gate.reserve({{"minute", "a", 600}, {"day", "a", 600}, {"slots", "a"}});
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->dues.size(), 3u);
  EXPECT_FALSE(gate.reserve({{"minute", "a", 600}, {"day", "a", 600}}));
  EXPECT_EQ(gate.left("day", "a"), 4400u) << "all or none";
  EXPECT_EQ(gate.left("slots", "a"), 1u);

  EXPECT_EQ(gate.settle(*kept, {100, 4000, std::nullopt}), Settled::yes);
  EXPECT_EQ(gate.left("minute", "a"), 900u);
  EXPECT_EQ(gate.left("day", "a"), 1000u) << "an under-estimate is charged";
  EXPECT_EQ(gate.left("slots", "a"), 2u);

  for (const std::uint64_t cost : {0, 100, 900}) {
    EXPECT_EQ(gate.settle(*kept, {cost, cost, cost}), Settled::no);
    EXPECT_EQ(gate.left("minute", "a"), 900u);
    EXPECT_EQ(gate.left("day", "a"), 1000u);
  }
  const auto other = gate.reserve({{"minute", "a", 600}}, "two");
  EXPECT_EQ(gate.settle(*other, {0}), Settled::yes) << "another reservation of the same key";
  EXPECT_EQ(gate.left("minute", "a"), 900u);
}

TEST_P(ReserveTest, BothNumbersAreReservedAndSettled) {
  // For the key b the candidate is in force (from 28% on).
  TestGate gate(GetParam(), R"(
  - {name: tokens, quota: 1000, window: 1h, candidate: {quota: 500, share: 50%}}
)");
  const auto kept = gate.reserve({{"tokens", "b", 400}});
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->dues.size(), 2u);
  EXPECT_EQ(gate.left("tokens", "b"), 100u);
  EXPECT_EQ(gate.settle(*kept, {300, 300}), Settled::yes);
  EXPECT_EQ(gate.left("tokens", "b"), 200u);
  EXPECT_EQ(gate.left("tokens (candidate)", "b"), 200u);
}

TEST_P(ReserveTest, ADueWithoutACostStaysCharged) {
  TestGate gate(GetParam(), two);
  const auto kept = gate.reserve({{"minute", "a", 600}, {"day", "a", 600}});
  EXPECT_EQ(gate.settle(*kept, {std::nullopt, 0}), Settled::yes);
  EXPECT_EQ(gate.left("minute", "a"), 400u);
  EXPECT_EQ(gate.left("day", "a"), 5000u);
}

TEST_P(ReserveTest, WithoutACostAReservationTakesWhatThePolicyReserves) {
  TestGate gate(GetParam(), two);
  ASSERT_TRUE(gate.reserve({{"minute", "a", std::nullopt}, {"day", "a", std::nullopt}}));
  EXPECT_EQ(gate.left("minute", "a"), 930u);
  EXPECT_EQ(gate.left("day", "a"), 4999u);
}

TEST_P(ReserveTest, WhatIsNotLimitedIsSettled) {
  TestGate gate(GetParam(), R"(
  - {name: tokens, quota: 1000, window: 1h, overrides: [{ids: [192.0.2.9], quota: unlimited}]}
)");
  const auto kept = gate.reserve({{"tokens", "192.0.2.9", 600}});
  EXPECT_TRUE(kept->dues.empty());
  EXPECT_EQ(gate.settle(*kept, {}), Settled::yes);
  EXPECT_EQ(gate.settle(*kept, {}), Settled::no);
}

TEST_P(ReserveTest, AReservationThatIsTooOldStaysCharged) {
  TestGate gate(GetParam(), two);
  const auto kept = gate.reserve({{"day", "a", 600}});
  gate.now.ns += reservation_lifetime;
  const std::uint64_t left = gate.left("day", "a");
  EXPECT_EQ(gate.settle(*kept, {0}), Settled::no);
  EXPECT_EQ(gate.left("day", "a"), left);
}

TEST_P(ReserveTest, WhatAnotherMachineCountedAloneIsSettledOnlyThere) {
  TestGate gate(GetParam(), two);
  auto kept = gate.reserve({{"day", "a", 600}, {"slots", "a"}});
  kept->elsewhere = true;
  EXPECT_EQ(gate.settle(*kept, {0, std::nullopt}), Settled::elsewhere);
  EXPECT_EQ(gate.left("day", "a"), 4400u);
  EXPECT_EQ(gate.left("slots", "a"), 1u);
  kept->elsewhere = false;
  EXPECT_EQ(gate.settle(*kept, {0, std::nullopt}), Settled::yes) << "that changed nothing";
  kept->elsewhere = true;
  gate.now.ns += reservation_lifetime;
  EXPECT_EQ(gate.settle(*kept, {0, std::nullopt}), Settled::no) << "too old for every machine";
}

TEST_P(ReserveTest, WhatWasSettledStaysSettledAsLongAsItCouldBe) {
  TestGate gate(GetParam(), two);
  const auto kept = gate.reserve({{"day", "a", 600}});
  EXPECT_EQ(gate.settle(*kept, {500}), Settled::yes);
  for (int i = 0; i < 59; ++i) {
    gate.now.ns += 60 * second;
    EXPECT_EQ(gate.settle(*kept, {0}), Settled::no) << i;
  }
}

constexpr char tokens_slots_and_flood[] = R"(
  - {name: tokens, quota: 1000, window: 1h,
     cost: {reserve: 10, settle: {response-header: x-tokens}}}
  - {name: slots, algorithm: concurrency, quota: 2}
  - {name: flood, quota: 1, window: 1h}
)";

// The table has no place to note that a reservation was settled. What it cannot tell must not free
// anybody, nor keep slots from those who have released them.
TEST_P(ReserveTest, InAFullTableOnlyUnitsAreNotGivenBack) {
  TestGate gate(GetParam(), tokens_slots_and_flood);
  const auto dear = gate.reserve({{"tokens", "a", std::nullopt}, {"slots", "a", 1}}, "dear");
  const auto cheap = gate.reserve({{"tokens", "a", std::nullopt}, {"slots", "a", 1}}, "cheap");
  ASSERT_TRUE(dear && cheap);
  gate.flood("flood", 150000);
  EXPECT_EQ(gate.left("slots", "a"), 0u);
  EXPECT_EQ(gate.settle(*dear, {100, std::nullopt}), Settled::yes);
  EXPECT_EQ(gate.left("tokens", "a"), 890u);
  EXPECT_EQ(gate.left("slots", "a"), 1u);
  EXPECT_EQ(gate.settle(*cheap, {3, std::nullopt}), Settled::no);
  EXPECT_EQ(gate.left("tokens", "a"), 890u);
  EXPECT_EQ(gate.left("slots", "a"), 2u);
  EXPECT_EQ(gate.settle(*dear, {100, std::nullopt}), Settled::yes) << "it cannot be known";
  EXPECT_EQ(gate.left("tokens", "a"), 800u) << "rather twice than not at all";
}

TEST_P(ReserveTest, ACallerThatSettlesOnceNeedsNoPlace) {
  TestGate gate(GetParam(), tokens_slots_and_flood);
  const auto kept = gate.reserve({{"tokens", "a", std::nullopt}, {"slots", "a", 1}}, "");
  ASSERT_TRUE(kept);
  gate.flood("flood", 150000);
  EXPECT_EQ(gate.settle(*kept, {3, std::nullopt}), Settled::yes);
  EXPECT_EQ(gate.left("tokens", "a"), 997u);
  EXPECT_EQ(gate.left("slots", "a"), 2u);
  EXPECT_EQ(gate.settle(*gate.reserve({{"tokens", "a", 10}}, ""), {std::nullopt}), Settled::yes);
  EXPECT_EQ(gate.left("tokens", "a"), 987u);
}

TEST_P(ReserveTest, EstimatesLearnFromReservationsOnce) {
  TestGate gate(GetParam(), R"(
  - {name: tokens, quota: 10000, window: 1h,
     cost: {reserve: {estimate: 95%}, settle: response-bytes}}
)");
  const auto kept = gate.reserve({{"tokens", "a", std::nullopt}});
  EXPECT_EQ(gate.settle(*kept, {70}), Settled::yes);
  EXPECT_EQ(gate.settle(*kept, {5000}), Settled::no);
  ASSERT_TRUE(gate.reserve({{"tokens", "b", std::nullopt}}));
  EXPECT_EQ(gate.left("tokens", "b"), 9930u);
}

}  // namespace
}  // namespace headgate::gate
