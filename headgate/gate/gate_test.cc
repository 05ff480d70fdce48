// The steps of one request, with real policy files and a real table.

#include "headgate/gate/gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "headgate/base/testing/allocations.h"
#include "headgate/gate/table_options.h"
#include "headgate/gate/testing/policies.h"
#include "headgate/gate/testing/test_store.h"

namespace headgate::gate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<std::string> names(std::span<const policy::Policy* const> policies) {
  std::vector<std::string> names;
  for (const policy::Policy* policy : policies) names.push_back(policy->name);
  return names;
}

constexpr Nanos second = nanos_per_second;

// A gate over a policy file, which decides as of instants that the test chooses.
class TestGate {
 public:
  TestGate(Completes when, const std::string& yaml) {
    load(yaml);
    auto options = table_options(*policies_);
    options.memory = 1 << 20;
    store_.emplace(when, options);
    counts_ = std::vector<PolicyCounts>(shards * (policies_->policies().size() + 1));
    make_gate();
    now = store_->table().now();
  }

  const Verdict& send(const std::string& path = "/", DryRun dry_run = DryRun::no) {
    policy::Request request;
    request.method = "GET";
    request.host = host;
    request.path = path;
    request.peer = policy::Address::parse(peer);
    request.headers = &headers;
    TestStore::Answer answer;
    gate_->admit(request, now, dry_run, context_, answer.done());
    store_->complete(answer);
    return context_.verdict;
  }

  // The first of the two steps of send().
  bool prefetch(const std::string& path = "/") {
    policy::Request request;
    request.path = path;
    request.peer = policy::Address::parse(peer);
    request.headers = &headers;
    return gate_->prefetch(request, now, DryRun::no, context_);
  }
  const Verdict& admit() {
    gate_->admit(context_);
    store_->complete_all();
    return context_.verdict;
  }

  // The field of the response; "" if it has none of this name.
  std::string ratelimit() { return field("RateLimit"); }
  std::string ratelimit_policy() { return field("RateLimit-Policy"); }
  std::string field(std::string_view name) {
    std::array<char, 4096> room;
    Writer out(room);
    std::string value;
    for (const Line& line : gate_->field_writer().write(context_.verdict.items, out)) {
      if (line.name == name) value = line.value;
    }
    return value;
  }
  std::string problem() {
    std::array<char, 4096> room;
    Writer out(room);
    EXPECT_TRUE(gate_->field_writer().write_problem(context_.verdict, out));
    return std::string(out.text());
  }

  // Ends the response to the last request. `tokens` is its header.
  void end(unsigned status = 200, const std::string& tokens = "") {
    FakeHeaders response;
    if (!tokens.empty()) response.lines["tokens"] = tokens;
    // The memory of the request and its response ends before the store has to answer.
    std::vector<Due> dues(context_.verdict.dues.begin(), context_.verdict.dues.end());
    std::vector<std::string> keys;
    for (const Due& due : dues) keys.emplace_back(due.key);
    for (std::size_t i = 0; i < dues.size(); ++i) dues[i].key = keys[i];
    gate_->settle(dues, now, {status, 10, &response}, now);
    keys.clear();
    dues.clear();
    store_->complete_all();
  }

  PolicyTotals counts(std::size_t policy) const {
    PolicyTotals sum;
    for (std::size_t i = policy; i < counts_.size(); i += counts_.size() / shards) {
      sum += counts_[i];
    }
    return sum;
  }
  // Of all requests.
  PolicyTotals requests() const { return counts(counts_.size() / shards - 1); }
  const Gate& gate() const { return *gate_; }
  TestStore& store() { return *store_; }
  std::span<const Due> dues() const { return context_.verdict.dues; }

  // The policies end, as a server's do some time after a reload; and the next ones come.
  void forget_policies() {
    gate_.reset();
    policies_.reset();
  }
  void load(const std::string& yaml) { policies_ = loaded(yaml); }
  void make_gate() {
    gate_ = std::make_unique<Gate>(policies_, store_->store(), store_->table().secret(), counts_);
  }

  Instant now;
  std::string peer = "192.0.2.1";
  std::string host = "api.example";
  FakeHeaders headers;

 private:
  static constexpr std::size_t shards = 3;

  std::shared_ptr<const policy::PolicySet> policies_;
  std::optional<TestStore> store_;
  std::vector<PolicyCounts> counts_;
  std::unique_ptr<Gate> gate_;
  DecisionContext context_;
};

class GateTest : public testing::TestWithParam<Completes> {};
HEADGATE_WITH_EACH_STORE(GateTest);

constexpr const char* burst_and_daily = R"(
policies:
  - {name: burst, quota: 3, window: 60s}
  - {name: daily, quota: 5000, window: 1d}
)";

TEST_P(GateTest, FieldsReportTheDecision) {
  TestGate gate(GetParam(), burst_and_daily);
  EXPECT_EQ(gate.send().outcome, Outcome::admitted);
  EXPECT_EQ(gate.ratelimit_policy(), R"("burst";q=3;w=60, "daily";q=5000;w=86400)");
  EXPECT_EQ(gate.ratelimit(), R"("burst";r=2;t=40, "daily";r=4999;t=86383)");
  gate.send();
  gate.send();
  const Verdict& denied = gate.send();
  EXPECT_EQ(denied.outcome, Outcome::denied);
  EXPECT_EQ(denied.denier->name, "burst");
  EXPECT_THAT(names(denied.violated), ElementsAre("burst"));
  EXPECT_EQ(denied.retry_after, 20u);
  EXPECT_EQ(denied.remaining, 0u);
  EXPECT_EQ(gate.ratelimit(), R"("burst";r=0;t=20, "daily";r=4997;t=86349)")
      << "the daily quota was not charged for a request that burst denied";
  gate.now.ns += 20 * second;
  EXPECT_EQ(gate.send().outcome, Outcome::admitted) << "as announced";
}

TEST_P(GateTest, WithoutAMatchingPolicyTheOutcomeIsOff) {
  TestGate gate(GetParam(), R"(
policies:
  - {name: api, quota: 3, window: 60s, match: [{path: "/api/*"}]}
)");
  EXPECT_EQ(gate.send("/other").outcome, Outcome::off);
  EXPECT_TRUE(gate.send("/other").items.empty());
  EXPECT_EQ(gate.send("/api/x").outcome, Outcome::admitted);
}

TEST_P(GateTest, APrefetchAloneChargesNothing) {
  TestGate gate(GetParam(), R"(policies:
  - {name: burst, quota: 1, window: 60s, match: [{path: "/limited"}], key: [address]}
)");
  EXPECT_FALSE(gate.prefetch("/free"));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(gate.prefetch("/limited"));
  EXPECT_EQ(gate.counts(0).admitted, 0u);
  EXPECT_EQ(gate.admit().outcome, Outcome::admitted);
  EXPECT_EQ(gate.send("/limited").outcome, Outcome::denied);
  EXPECT_EQ(gate.counts(0).admitted, 1u);
}

TEST_P(GateTest, TheLongestWaitIsReported) {
  TestGate gate(GetParam(), R"(
policies:
  - {name: short, quota: 1, window: 10s, status: 503}
  - {name: long, quota: 1, window: 100s, status: 403}
  - {name: wide, quota: 100, window: 1s}
)");
  gate.send();
  const Verdict& denied = gate.send();
  EXPECT_EQ(denied.denier->name, "long");
  EXPECT_EQ(denied.status(), 403u);
  EXPECT_EQ(denied.retry_after, 100u);
  EXPECT_THAT(names(denied.violated), ElementsAre("short", "long"));
  EXPECT_EQ(gate.ratelimit(), R"("short";r=0;t=10, "long";r=0;t=100, "wide";r=99;t=1)");
  const auto problem = nlohmann::json::parse(gate.problem());
  EXPECT_THAT(problem["violated-policies"], ElementsAre("short", "long"));
  EXPECT_EQ(problem["status"], 403);
}

TEST_P(GateTest, ACostAboveTheQuotaHasNoRetryAfter) {
  TestGate gate(GetParam(), R"(
policies:
  - {name: closed, quota: 0, window: 60s}
  - {name: burst, quota: 1, window: 60s}
)");
  const Verdict& denied = gate.send();
  EXPECT_EQ(denied.outcome, Outcome::denied);
  EXPECT_EQ(denied.denier->name, "closed");
  EXPECT_EQ(denied.retry_after, std::nullopt);
  EXPECT_EQ(gate.ratelimit(), R"("closed";r=0, "burst";r=1;t=60)");
}

TEST_P(GateTest, ShadowPoliciesNeverDenyAndAreNotReported) {
  TestGate gate(GetParam(), R"(
policies:
  - {name: trial, quota: 1, window: 60s, mode: shadow}
  - {name: burst, quota: 3, window: 60s}
  - {name: gone, quota: 0, window: 60s, mode: off}
)");
  EXPECT_EQ(gate.send().outcome, Outcome::admitted);
  const Verdict& second_time = gate.send();
  EXPECT_EQ(second_time.outcome, Outcome::shadow_denied);
  EXPECT_THAT(second_time.violated, IsEmpty());
  EXPECT_EQ(gate.ratelimit(), R"("burst";r=1;t=20)");
  EXPECT_EQ(gate.counts(0).admitted, 1u);
  EXPECT_EQ(gate.counts(0).shadow_denied, 1u);
  EXPECT_EQ(gate.counts(1).admitted, 2u);
}

TEST_P(GateTest, AShadowPolicySpendsAsIfAlone) {
  TestGate gate(GetParam(), R"(
policies:
  - {name: trial, quota: 2, window: 60s, mode: shadow}
  - {name: burst, quota: 1, window: 60s}
)");
  gate.send();
  EXPECT_EQ(gate.send().outcome, Outcome::denied);
  EXPECT_EQ(gate.counts(0).admitted, 2u) << "also of a request that another policy denied";
  gate.send();
  EXPECT_EQ(gate.counts(0).shadow_denied, 1u);
}

// For 192.0.2.4 the candidate is in force (from 31% on), for 192.0.2.1 it is not (from 61% on).
constexpr const char* burst_and_candidate = R"(
policies:
  - {name: burst, quota: 2, window: 60s, candidate: {quota: 3, share: 50%}}
  - {name: daily, quota: 10, window: 1d}
)";

TEST_P(GateTest, OfTwoNumbersOneIsInForceForEachKey) {
  TestGate gate(GetParam(), burst_and_candidate);
  EXPECT_EQ(gate.send().outcome, Outcome::admitted);
  EXPECT_EQ(gate.ratelimit_policy(), R"("burst";q=2;w=60, "daily";q=10;w=86400)");
  EXPECT_EQ(gate.ratelimit(), R"("burst";r=1;t=30, "daily";r=9;t=77760)");
  gate.send();
  const Verdict& denied = gate.send();
  EXPECT_EQ(denied.outcome, Outcome::denied);
  EXPECT_THAT(nlohmann::json::parse(gate.problem())["violated-policies"], ElementsAre("burst"));

  gate.peer = "192.0.2.4";
  gate.send();
  EXPECT_EQ(gate.ratelimit_policy(), R"("burst";q=3;w=60, "daily";q=10;w=86400)");
  EXPECT_EQ(gate.ratelimit(), R"("burst";r=2;t=40, "daily";r=9;t=77760)");
  gate.send();
  EXPECT_EQ(gate.send().outcome, Outcome::shadow_denied) << "by the policy's own number";
  EXPECT_EQ(gate.ratelimit(), R"("burst";r=0;t=20, "daily";r=7;t=60480)");
  const Verdict& by_candidate = gate.send();
  EXPECT_EQ(by_candidate.outcome, Outcome::denied);
  EXPECT_EQ(by_candidate.denier->title(), "burst");
  EXPECT_EQ(by_candidate.retry_after, 20u);
  EXPECT_THAT(nlohmann::json::parse(gate.problem())["violated-policies"], ElementsAre("burst"));
  EXPECT_EQ(gate.ratelimit(), R"("burst";r=0;t=20, "daily";r=7;t=60480)") << "all or none";
}

TEST_P(GateTest, BothNumbersCountAsIfAlone) {
  TestGate gate(GetParam(), burst_and_candidate);
  for (int i = 0; i < 4; ++i) gate.send();
  EXPECT_EQ(gate.counts(0).admitted, 2u);
  EXPECT_EQ(gate.counts(0).denied, 2u);
  EXPECT_EQ(gate.counts(1).admitted, 3u) << "also of requests that were denied";
  EXPECT_EQ(gate.counts(1).shadow_denied, 1u);
  gate.peer = "192.0.2.4";
  for (int i = 0; i < 4; ++i) gate.send();
  EXPECT_EQ(gate.counts(0).admitted, 4u);
  EXPECT_EQ(gate.counts(0).shadow_denied, 2u);
  EXPECT_EQ(gate.counts(1).admitted, 6u);
  EXPECT_EQ(gate.counts(1).denied, 1u);
}

TEST_P(GateTest, AShareOfNoneOnlyCounts) {
  TestGate gate(GetParam(), R"(
policies:
  - {name: burst, quota: 5, window: 60s, candidate: {quota: 1}, refund-on: 5xx}
)");
  gate.send();
  EXPECT_EQ(gate.send().outcome, Outcome::shadow_denied);
  EXPECT_EQ(gate.ratelimit(), R"("burst";r=3;t=36)");
  EXPECT_EQ(gate.dues().size(), 1u);
  gate.now.ns += 60 * second;
  gate.send();
  EXPECT_EQ(gate.dues().size(), 2u);
  gate.end(503);
  EXPECT_EQ(gate.counts(0).refunded, 1u);
  EXPECT_EQ(gate.counts(1).refunded, 1u);
  EXPECT_EQ(gate.send().outcome, Outcome::admitted) << "the candidate got its unit back, too";
}

TEST_P(GateTest, ACandidateOfSlotsIsInForceForItsShare) {
  TestGate gate(GetParam(), R"(
policies:
  - {name: burst, quota: 1, algorithm: concurrency, candidate: {quota: 2, share: 50%}}
)");
  gate.send();
  EXPECT_EQ(gate.send().outcome, Outcome::denied);
  gate.peer = "192.0.2.4";
  gate.send();
  EXPECT_EQ(gate.ratelimit_policy(), R"("burst";q=2;qu="concurrent-requests")");
  EXPECT_EQ(gate.send().outcome, Outcome::shadow_denied);
  EXPECT_EQ(gate.send().outcome, Outcome::denied);
}

TEST_P(GateTest, ARequestIsCountedOnceHoweverManyPoliciesDecide) {
  TestGate gate(GetParam(), R"(
policies:
  - {name: trial, quota: 1, window: 60s, mode: shadow, match: [{path: "/api/*"}]}
  - {name: burst, quota: 3, window: 60s, match: [{path: "/api/*"}]}
  - {name: daily, quota: 3, window: 1d, match: [{path: "/api/*"}]}
  - {name: gone, quota: 0, window: 60s, mode: off}
)");
  for (int i = 0; i < 5; ++i) {
    gate.send("/api/x");
    gate.send("/other");
  }
  EXPECT_EQ(gate.requests().admitted, 1u);
  EXPECT_EQ(gate.requests().shadow_denied, 2u);
  EXPECT_EQ(gate.requests().denied, 2u);
}

TEST_P(GateTest, FieldsOfManyPoliciesReportTheClosest) {
  std::string yaml = "policies:\n";
  for (int i = 1; i <= 8; ++i) {
    yaml +=
        "  - {name: p" + std::to_string(i) + ", quota: 1" + std::to_string(i) + ", window: 60s}\n";
  }
  TestGate eight(GetParam(), yaml);
  EXPECT_EQ(eight.send().items.size(), 8u);
  yaml +=
      "  - {name: p9, quota: 9, window: 60s}\n  - {name: b, quota: 99, window: 60s, unit: bytes}\n";
  TestGate ten(GetParam(), yaml);
  ten.send();
  EXPECT_EQ(ten.ratelimit(), R"("p9";r=8;t=54, "b";r=98;t=60)") << "one of each unit";
  TestGate all(GetParam(), "report: all\n" + yaml);
  EXPECT_EQ(all.send().items.size(), 10u);
}

TEST_P(GateTest, ADryRunMakesEveryPolicyAShadowPolicy) {
  TestGate gate(GetParam(), burst_and_daily);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(gate.send("/", DryRun::yes).outcome, Outcome::admitted);
  EXPECT_EQ(gate.send("/", DryRun::yes).outcome, Outcome::shadow_denied);
  EXPECT_EQ(gate.ratelimit(), "");
  EXPECT_EQ(gate.counts(0).shadow_denied, 1u);
  EXPECT_EQ(gate.counts(0).denied, 0u);
}

TEST_P(GateTest, ARefundGivesBackWhatWasCharged) {
  TestGate gate(GetParam(), R"(
policies:
  - {name: kind, quota: 2, window: 60s, refund-on: [5xx]}
  - {name: strict, quota: 10, window: 60s}
)");
  EXPECT_EQ(gate.send().dues.size(), 1u);
  gate.end(503);
  EXPECT_EQ(gate.counts(0).refunded, 1u);
  gate.send();
  EXPECT_EQ(gate.ratelimit(), R"("kind";r=1;t=30, "strict";r=8;t=48)");
  gate.end(200);
  EXPECT_EQ(gate.counts(0).refunded, 1u);
  gate.send();
  EXPECT_EQ(gate.send().dues.size(), 0u) << "a denied request was not charged";
}

TEST_P(GateTest, ALateCostIsChargedWhenItIsKnown) {
  TestGate gate(GetParam(), R"(
policies:
  - {name: tokens, quota: 100, window: 100s, cost: {response-header: tokens}, refund-on: [5xx]}
  - {name: bytes, quota: 1000, window: 1000s, unit: content-bytes, cost: response-bytes}
  - {name: trial, quota: 1, window: 1h, cost: {response-header: tokens}, mode: shadow}
)");
  EXPECT_EQ(gate.send().dues.size(), 3u);
  EXPECT_EQ(gate.ratelimit(), R"("tokens";r=99;t=99, "bytes";r=999;t=999)")
      << "one unit until it is known";
  gate.end(200, "70");
  EXPECT_EQ(gate.send().outcome, Outcome::shadow_denied);
  EXPECT_EQ(gate.ratelimit(), R"("tokens";r=29;t=29, "bytes";r=989;t=989)");
  gate.end(500, "70");
  gate.send();
  EXPECT_EQ(gate.ratelimit(), R"("tokens";r=29;t=29, "bytes";r=979;t=979)") << "given back";
  gate.end(200, "130");  // of the 30 that are left
  EXPECT_EQ(gate.send().outcome, Outcome::denied);
  EXPECT_EQ(gate.ratelimit(), R"("tokens";r=0;t=101, "bytes";r=970;t=970)") << "nothing taken";
  EXPECT_EQ(gate.send().dues.size(), 0u);
  gate.end(200, "130");
  gate.now.ns += 100 * second;
  EXPECT_EQ(gate.send().outcome, Outcome::denied);
  gate.now.ns += second;
  EXPECT_THAT(gate.send().violated, IsEmpty());
  for (const char* unclear : {"", "-5", "many"}) {
    const auto counted = gate.counts(0).cost_defaulted;
    gate.now.ns += 10 * second;
    EXPECT_THAT(gate.send().violated, IsEmpty());
    gate.end(200, unclear);
    EXPECT_EQ(gate.counts(0).cost_defaulted, counted + 1) << unclear;
  }
}

TEST_P(GateTest, ASlotIsHeldUntilTheResponseHasEnded) {
  TestGate gate(GetParam(), R"(
policies:
  - {name: slots, quota: 2, algorithm: concurrency}
  - {name: four, quota: 4, window: 1h}
)");
  gate.send();
  EXPECT_EQ(gate.ratelimit().substr(0, 12), R"("slots";r=1,)") << "its own is taken";
  gate.send();
  const Verdict& third = gate.send();
  EXPECT_THAT(names(third.violated), ElementsAre("slots"));
  EXPECT_EQ(third.retry_after, std::nullopt);
  EXPECT_EQ(third.dues.size(), 0u);
  gate.end();  // of the denied one: nothing is released
  EXPECT_EQ(gate.send().outcome, Outcome::denied);
  gate.now.ns += 60 * second;  // the lease
  EXPECT_EQ(gate.send().outcome, Outcome::admitted);
  gate.end(499);
  gate.end(499);  // again: it has none any more
  gate.send();
  EXPECT_EQ(gate.ratelimit().substr(0, 12), R"("slots";r=1,)");
  EXPECT_THAT(names(gate.send().violated), ElementsAre("four"))
      << "the other policy denies, so no slot is taken";
  gate.end();
}

TEST_P(GateTest, FieldsCanBeSwitchedOffOrHeldBack) {
  TestGate none(GetParam(), std::string("fields: none\n") + burst_and_daily);
  none.send();
  EXPECT_EQ(none.ratelimit(), "");

  TestGate on_denial(GetParam(), std::string("report-when: denied\n") + burst_and_daily);
  for (int i = 0; i < 3; ++i) {
    on_denial.send();
    EXPECT_EQ(on_denial.ratelimit(), "");
  }
  on_denial.send();
  EXPECT_THAT(on_denial.ratelimit(), HasSubstr(R"("burst";r=0;t=20)"));

  TestGate below(GetParam(), std::string("report-when: below 40%\n") + burst_and_daily);
  below.send();
  EXPECT_EQ(below.ratelimit(), "") << "2 of 3 are left";
  below.send();
  EXPECT_THAT(below.ratelimit(), HasSubstr(R"("burst";r=1;t=20)"));
  below.send();
  below.send();
  EXPECT_THAT(below.ratelimit(), HasSubstr(R"("burst";r=0;t=20)")) << "a denial is always reported";
}

TEST_P(GateTest, TheClosestToExhaustionCanBeReportedAlone) {
  TestGate gate(GetParam(), std::string("report: closest\n") + burst_and_daily);
  gate.send();
  EXPECT_EQ(gate.ratelimit(), R"("burst";r=2;t=40)");
  EXPECT_EQ(gate.ratelimit_policy(), R"("burst";q=3;w=60)");
}

TEST_P(GateTest, TheClosestOfADenialIsAPolicyThatDenied) {
  // A request of 4 is more than what `fine` has left, and `few` has still less but enough.
  TestGate gate(GetParam(), R"(
report: closest
fields: [ratelimit, draft-03]
policies:
  - {name: few, quota: 3, window: 60s}
  - {name: fine, quota: 10, window: 100s, cost: {request-header: x-cost}}
)");
  gate.headers.lines["x-cost"] = "7";
  gate.send();
  EXPECT_EQ(gate.ratelimit(), R"("few";r=2;t=40)");
  gate.headers.lines["x-cost"] = "4";
  const Verdict& denied = gate.send();
  EXPECT_EQ(denied.outcome, Outcome::denied);
  EXPECT_EQ(denied.retry_after, 10U);
  EXPECT_EQ(gate.ratelimit(), R"("fine";r=3;t=10)");
  EXPECT_EQ(gate.field("RateLimit-Limit"), "10, 10;w=100");
  EXPECT_EQ(gate.field("RateLimit-Reset"), "10") << "the moment that Retry-After names";
}

TEST_P(GateTest, TheClosestOfSeveralDenialsIsTheOneOfRetryAfter) {
  TestGate gate(GetParam(), R"(
report: closest
policies:
  - {name: short, quota: 1, window: 10s}
  - {name: long, quota: 1, window: 100s}
  - {name: wide, quota: 100, window: 1s}
)");
  gate.send();
  EXPECT_EQ(gate.send().retry_after, 100U);
  EXPECT_EQ(gate.ratelimit(), R"("long";r=0;t=100)");
}

TEST_P(GateTest, TheClosestIsComparedWithPoliciesOfItsUnitOnly) {
  TestGate gate(GetParam(), R"(
report: closest
policies:
  - {name: requests, quota: 100, window: 60s}
  - {name: more, quota: 1000, window: 60s}
  - {name: credits, quota: 10, window: 60s, unit: credits, cost: 4}
)");
  gate.send();
  EXPECT_EQ(gate.ratelimit(), R"("requests";r=99;t=60, "credits";r=6;t=36)")
      << "99 requests are neither more nor less than 6 credits";
}

TEST_P(GateTest, EveryFormReportsTheSameDecision) {
  TestGate current(GetParam(),
                   std::string("fields: [x-ratelimit, ratelimit, draft-03]\n") + burst_and_daily);
  current.send();
  EXPECT_EQ(current.ratelimit(), R"("burst";r=2;t=40, "daily";r=4999;t=86383)");
  EXPECT_EQ(current.field("RateLimit-Limit"), "3, 3;w=60, 5000;w=86400");
  EXPECT_EQ(current.field("RateLimit-Remaining"), "2");
  EXPECT_EQ(current.field("RateLimit-Reset"), "40");
  EXPECT_EQ(current.field("X-RateLimit-Limit"), "3");
  EXPECT_EQ(current.field("X-RateLimit-Remaining"), "2");
  EXPECT_EQ(current.field("X-RateLimit-Reset"), "40");
  TestGate draft_07(GetParam(), std::string("fields: draft-07\n") + burst_and_daily);
  draft_07.send();
  EXPECT_EQ(draft_07.ratelimit(), "limit=3, remaining=2, reset=40");
  EXPECT_EQ(draft_07.ratelimit_policy(), "3;w=60, 5000;w=86400");
  TestGate draft_06(GetParam(), std::string("fields: draft-06\n") + burst_and_daily);
  for (int i = 0; i < 4; ++i) draft_06.send();
  EXPECT_EQ(draft_06.ratelimit(), "");
  EXPECT_EQ(draft_06.ratelimit_policy(), "3;w=60, 5000;w=86400");
  EXPECT_EQ(draft_06.field("RateLimit-Limit"), "3");
  EXPECT_EQ(draft_06.field("RateLimit-Remaining"), "0");
  EXPECT_EQ(draft_06.field("RateLimit-Reset"), "20");
}

TEST_P(GateTest, OverridesAreReportedWithTheirOwnQuota) {
  TestGate gate(GetParam(), R"(
policies:
  - name: burst
    quota: 3
    window: 60s
    overrides:
      - {ids: ["192.0.2.2"], quota: 30}
      - {ids: ["192.0.2.3"], quota: unlimited}
)");
  gate.peer = "192.0.2.2";
  gate.send();
  EXPECT_EQ(gate.ratelimit_policy(), R"("burst";q=30;w=60)");
  EXPECT_EQ(gate.ratelimit(), R"("burst";r=29;t=58)");
  gate.peer = "192.0.2.3";
  EXPECT_EQ(gate.send().outcome, Outcome::off);
}

TEST_P(GateTest, PartitionKeysAreShownAsConfigured) {
  TestGate plain(GetParam(), std::string("partition-key: plain\n") + burst_and_daily);
  plain.send();
  EXPECT_THAT(plain.ratelimit(), HasSubstr(R"("burst";r=2;t=40;pk=:MTkyLjAuMi4x:,)"));
  EXPECT_THAT(plain.ratelimit_policy(), HasSubstr(R"("burst";q=3;w=60;pk=:MTkyLjAuMi4x:,)"));

  TestGate one(GetParam(), std::string("partition-key: opaque\n") + burst_and_daily);
  TestGate other(GetParam(), std::string("partition-key: opaque\n") + burst_and_daily);
  one.send();
  other.send();
  EXPECT_THAT(one.ratelimit(), testing::MatchesRegex(R"("burst";r=2;t=40;pk=:.{24}:, .*)"));
  EXPECT_NE(one.ratelimit(), other.ratelimit()) << "another secret, another key";
  const std::string first_policy = one.ratelimit_policy();
  one.send();
  EXPECT_EQ(one.ratelimit_policy(), first_policy) << "the same client, the same key";
  one.peer = "192.0.2.99";
  one.send();
  EXPECT_NE(one.ratelimit_policy(), first_policy);
}

TEST_P(GateTest, JitterOnlyAddsAndAddsTheSameToBoth) {
  TestGate gate(GetParam(), R"(
retry-after-jitter: 50%
policies:
  - {name: a, quota: 1, window: 100s}
  - {name: b, quota: 1, window: 10s}
)");
  gate.send();
  std::uint64_t least = 1000;
  std::uint64_t most = 0;
  for (int i = 0; i < 1000; ++i) {
    gate.now.ns += 1;
    const Verdict& denied = gate.send();
    ASSERT_EQ(denied.outcome, Outcome::denied);
    const std::uint64_t wait = *denied.retry_after;
    EXPECT_EQ(denied.items[0].reset, wait);
    EXPECT_EQ(denied.items[1].reset, wait - 100 + 10);
    least = std::min(least, wait);
    most = std::max(most, wait);
  }
  EXPECT_GE(least, 100u);
  EXPECT_LE(least, 101u);
  EXPECT_LE(most, 150u);
  EXPECT_GE(most, 148u);
}

TEST_P(GateTest, CostsComeFromTheRequest) {
  TestGate gate(GetParam(), R"(
policies:
  - {name: credit, quota: 10, window: 60s, unit: credits, cost: {request-header: X-Cost}}
)");
  gate.headers.lines["x-cost"] = "4";
  gate.send();
  EXPECT_EQ(gate.ratelimit_policy(), R"("credit";q=10;qu="credits";w=60)");
  EXPECT_EQ(gate.ratelimit(), R"("credit";r=6;t=36)");
  gate.headers.lines["x-cost"] = "-4";
  gate.send();
  EXPECT_EQ(gate.ratelimit(), R"("credit";r=5;t=30)");
  EXPECT_EQ(gate.counts(0).cost_defaulted, 1u);
}

// ---- requests whose decisions come later

policy::Request request_of(const policy::Headers& headers) {
  policy::Request request;
  request.method = "GET";
  request.path = "/";
  request.peer = policy::Address::parse("192.0.2.1");
  request.headers = &headers;
  return request;
}

TEST(GateLater, RequestsAreDecidedInAnyOrder) {
  TestGate gate(Completes::later, burst_and_daily);
  std::array<DecisionContext, 5> contexts;
  TestStore::Answer answers;
  {
    const FakeHeaders headers;  // gone when the answers come
    for (DecisionContext& context : contexts) {
      gate.gate().admit(request_of(headers), gate.now, DryRun::no, context, answers.done());
    }
  }
  store::DeferredStore& store = gate.store().deferred();
  for (const std::size_t nth : {4, 2, 0, 1, 0}) store.complete(nth);
  EXPECT_EQ(answers.count(), 5);
  // Decided in the order 4, 2, 0, 3, 1, by a quota of 3.
  std::vector<bool> admitted;
  for (const DecisionContext& context : contexts) {
    admitted.push_back(context.verdict.outcome == Outcome::admitted);
  }
  EXPECT_THAT(admitted, ElementsAre(true, false, true, false, true));
  EXPECT_EQ(contexts[4].verdict.remaining, 2u);
  EXPECT_EQ(contexts[0].verdict.remaining, 0u);
  EXPECT_EQ(gate.counts(0).admitted, 3u);
  EXPECT_EQ(gate.counts(0).denied, 2u);
}

TEST(GateLater, NothingIsDecidedBeforeTheAnswer) {
  TestGate gate(Completes::later, burst_and_daily);
  DecisionContext context;
  TestStore::Answer answer;
  const FakeHeaders headers;
  gate.gate().admit(request_of(headers), std::nullopt, DryRun::no, context, answer.done());
  EXPECT_EQ(answer.count(), 0);
  EXPECT_EQ(context.verdict.outcome, Outcome::off);
  EXPECT_TRUE(context.verdict.items.empty());
  EXPECT_EQ(gate.counts(0).admitted, 0u);
  const Instant before = gate.store().table().now();
  gate.store().complete_all();
  EXPECT_EQ(context.verdict.outcome, Outcome::admitted);
  EXPECT_GE(context.now, before) << "the time of the decision, not of the question";
}

TEST(GateLater, WhatIsSettledOutlivesRequestAndPolicies) {
  const std::string yaml = R"(
policies:
  - {name: slots, quota: 1, algorithm: concurrency}
  - {name: tokens, quota: 100, window: 100s, cost: {response-header: tokens}}
  - {name: kind, quota: 9, window: 60s, refund-on: [200]}
)";
  auto gate = std::make_unique<TestGate>(Completes::later, yaml);
  gate->send();
  std::vector<Due> dues(gate->dues().begin(), gate->dues().end());
  std::vector<std::string> keys;
  for (const Due& due : dues) keys.emplace_back(due.key);
  for (std::size_t i = 0; i < dues.size(); ++i) dues[i].key = keys[i];
  FakeHeaders response;
  response.lines["tokens"] = "70";
  gate->gate().settle(dues, gate->now, {200, 10, &response}, gate->now);
  keys.clear();
  dues.clear();
  response.lines.clear();
  EXPECT_EQ(gate->store().deferred().outstanding(), 1u) << "one call for all";
  gate->forget_policies();
  gate->store().complete_all();
  gate->load(yaml);
  gate->make_gate();
  EXPECT_EQ(gate->send().outcome, Outcome::admitted) << "the slot was released";
  EXPECT_THAT(gate->ratelimit(), HasSubstr(R"("tokens";r=29;)"));
  EXPECT_THAT(gate->ratelimit(), HasSubstr(R"("kind";r=8;)"));
}

TEST(Gate, TheRequestPathDoesNotAllocate) {
  TestGate gate(Completes::at_once,
                std::string("partition-key: opaque\nfields: [ratelimit, draft-03, x-ratelimit]\n") +
                    burst_and_daily);
  std::array<char, 1024> room;
  for (int i = 0; i < 4; ++i) gate.send();  // admitted and denied once, with the longest keys
  const std::size_t before = allocations();
  for (int i = 0; i < 100; ++i) {
    const Verdict& verdict = gate.send();
    Writer out(room);
    ASSERT_EQ(gate.gate().field_writer().write(verdict.items, out).size(), 8U);
    ASSERT_TRUE(gate.gate().field_writer().write_problem(verdict, out));
    gate.now.ns += second;
  }
  EXPECT_EQ(allocations(), before);
}

// Thousands of decisions may wait for a store at once.
TEST(Gate, AContextGrowsOnlyWhereManyPoliciesApply) {
  const std::size_t before = allocated_bytes();
  const auto context = std::make_unique<DecisionContext>();
  EXPECT_LE(allocated_bytes() - before, 4096U);

  std::string policies =
      "report: all\npolicies:\n  - {name: everywhere, quota: 1000, window: 1h}\n";
  for (std::size_t i = 1; i < policy::policies_per_request_max; ++i) {
    policies +=
        "  - {name: p" + std::to_string(i) + ", quota: 10, window: 1h, match: [{path: /many}]}\n";
  }
  TestGate gate(Completes::at_once, policies);
  EXPECT_THAT(gate.send("/").items, SizeIs(1));
  EXPECT_THAT(gate.send("/many").items, SizeIs(policy::policies_per_request_max));
  const Verdict& verdict = gate.send("/");
  ASSERT_THAT(verdict.items, SizeIs(1));
  EXPECT_EQ(verdict.items[0].remaining, 997U);
}

TEST_P(GateTest, ARequestThatIsRefusedIsDeniedAndChargesNothing) {
  std::string policies = "policies:\n  - {name: all, quota: 9, window: 1h}\n";
  for (std::size_t i = 0; i < policy::policies_per_request_max; ++i) {
    policies += "  - {name: p" + std::to_string(i) +
                ", quota: 10, window: 1h, match: [{path: /many}, {host: tenant.example}]}\n";
  }
  TestGate gate(GetParam(), policies);
  const Verdict& verdict = gate.send("/many");
  EXPECT_EQ(verdict.outcome, Outcome::denied);
  EXPECT_EQ(verdict.status(), 503U);
  EXPECT_EQ(verdict.denier, nullptr);
  EXPECT_EQ(verdict.retry_after, std::nullopt);
  EXPECT_THAT(verdict.items, IsEmpty());
  gate.host = "node.1";
  EXPECT_EQ(gate.send().status(), 400U);
  EXPECT_EQ(gate.send("/", DryRun::yes).outcome, Outcome::shadow_denied);
  gate.host = "other.example";
  EXPECT_EQ(gate.send().items[0].remaining, 8U);
  EXPECT_EQ(gate.requests().denied, 2U);
  EXPECT_EQ(gate.requests().shadow_denied, 1U);
}

TEST(Gate, ThreadsAdmitExactlyTheSmallestQuota) {
  TestGate gate(Completes::at_once, R"(
policies:
  - {name: a, quota: 500, window: 1h}
  - {name: b, quota: 300, window: 1h}
  - {name: shadow, quota: 100, window: 1h, mode: shadow}
)");
  std::atomic<int> admitted{0};
  const auto work = [&] {
    DecisionContext context;
    const FakeHeaders headers;
    const policy::Request request = request_of(headers);
    for (int i = 0; i < 200; ++i) {
      gate.gate().admit(request, gate.now, DryRun::no, context);
      if (context.verdict.outcome != Outcome::denied) admitted.fetch_add(1);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(admitted, 300);
  EXPECT_EQ(gate.counts(0).admitted, 300u);
  EXPECT_EQ(gate.counts(1).admitted, 300u);
  EXPECT_EQ(gate.counts(1).denied, 500u);
  EXPECT_EQ(gate.counts(2).admitted, 100u);
}

}  // namespace
}  // namespace headgate::gate
