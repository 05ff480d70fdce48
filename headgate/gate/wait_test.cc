// Requests that wait in place of being denied.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "headgate/gate/gate.h"
#include "headgate/gate/testing/policies.h"
#include "headgate/policy/file/load.h"
#include "headgate/store/table.h"

namespace headgate::gate {
namespace {

using testing::HasSubstr;

constexpr Nanos second = nanos_per_second;
constexpr Instant noon{1'700'000'000 * second};

class Wait : public testing::Test {
 protected:
  void load(const std::string& policies) {
    const auto loaded = policy::load_text("version: 1\npolicies:\n" + policies, "test.yaml");
    ASSERT_TRUE(loaded) << loaded.error().front().text();
    policies_ = *loaded;
    counts_ = std::vector<PolicyCounts>(policies_->policies().size() + 1);
    gate_.emplace(policies_, *table_, HashSecret{}, counts_);
  }

  Verdict send(Waits waits, Nanos after = 0) {
    context_.waits = waits;
    policy::Request request;
    request.path = "/";
    gate_->admit(request, Instant{noon.ns + after}, DryRun::no, context_);
    return context_.verdict;
  }
  std::string limit_field() {
    std::array<char, 4096> room;
    Writer out(room);
    for (const Line& line : gate_->field_writer().write(context_.verdict.items, out)) {
      if (line.name == "RateLimit") return std::string(line.value);
    }
    return "";
  }

  const std::unique_ptr<store::Table> table_ = store::Table::open({.memory = 1 << 20}).value();
  std::shared_ptr<const policy::PolicySet> policies_;
  std::vector<PolicyCounts> counts_;
  std::optional<Gate> gate_;
  DecisionContext context_;
};

TEST_F(Wait, OnlyWhereTheDoorLetsItAndUpToTheDelay) {
  load("- {name: a, quota: 1, window: 1s, delay: 2s}\n");
  EXPECT_EQ(send(Waits::no).hold, 0);
  EXPECT_EQ(send(Waits::no).outcome, Outcome::denied);
  for (int i = 1; i <= 2; ++i) {
    const Verdict verdict = send(Waits::elsewhere);
    EXPECT_EQ(verdict.outcome, Outcome::admitted);
    EXPECT_EQ(verdict.hold, i * second);
    EXPECT_EQ(verdict.waits_for, &policies_->policies()[0]);
  }
  const Verdict denied = send(Waits::elsewhere);
  EXPECT_EQ(denied.outcome, Outcome::denied);
  EXPECT_EQ(denied.hold, 0);
  EXPECT_EQ(denied.retry_after, 3U);
  EXPECT_EQ(counts_[0].admitted, 3U);
  EXPECT_EQ(counts_[0].delayed, 2U);
  EXPECT_EQ(counts_[0].denied, 2U);
}

TEST_F(Wait, SoManyAtOnceOnly) {
  load("- {name: a, quota: 1, window: 1s, delay: 60s, delay-waiting: 2}\n");
  EXPECT_EQ(send(Waits::here).hold, 0);
  const Verdict first = send(Waits::here);
  const Verdict second_one = send(Waits::here);
  EXPECT_EQ(second_one.hold, 2 * second);
  EXPECT_EQ(send(Waits::here).outcome, Outcome::denied);
  gate_->end_wait(first);
  EXPECT_EQ(send(Waits::here, second).hold, 2 * second);
  EXPECT_EQ(send(Waits::here, second).outcome, Outcome::denied);
}

TEST_F(Wait, ThoseOfTheGateBeforeCount) {
  load("- {name: a, quota: 1, window: 1s, delay: 60s, delay-waiting: 1}\n");
  EXPECT_EQ(send(Waits::here).hold, 0);
  const Verdict waiting = send(Waits::here);
  EXPECT_EQ(waiting.hold, second);
  Gate next(policies_, *table_, HashSecret{}, counts_);
  next.count_waiting_of(*gate_);
  policy::Request request;
  request.path = "/";
  next.admit(request, noon, DryRun::no, context_);
  EXPECT_EQ(context_.verdict.outcome, Outcome::denied);
  gate_->end_wait(waiting);
  next.admit(request, noon, DryRun::no, context_);
  EXPECT_EQ(context_.verdict.hold, 2 * second);
}

TEST_F(Wait, ThoseOfAPolicyOfTheSameNameCountUnderOtherPolicies) {
  load("- {name: a, quota: 1, window: 1s, delay: 60s, delay-waiting: 1}\n");
  EXPECT_EQ(send(Waits::here).hold, 0);
  std::optional<Waiting> waiting = gate_->waiting(send(Waits::here));
  const auto before = std::make_unique<Gate>(*gate_);
  load(
      "- {name: b, quota: 1, window: 1s, delay: 60s, delay-waiting: 1, match: [{path: /b}]}\n"
      "- {name: a, quota: 1, window: 1s, delay: 60s, delay-waiting: 2}\n");
  gate_->count_waiting_of(*before);
  EXPECT_EQ(send(Waits::here).hold, 2 * second);
  EXPECT_EQ(send(Waits::here).outcome, Outcome::denied);
  waiting.reset();
  EXPECT_EQ(send(Waits::here).hold, 3 * second);
  EXPECT_EQ(send(Waits::here).outcome, Outcome::denied);
}

TEST_F(Wait, ARequestMayOutlastItsGate) {
  load("- {name: a, quota: 1, window: 1s, delay: 60s, delay-waiting: 1}\n");
  EXPECT_EQ(send(Waits::here).hold, 0);
  Waiting waiting = gate_->waiting(send(Waits::here));
  gate_.reset();
  policies_.reset();
  waiting = Waiting();
}

TEST_F(Wait, AllOfTheDenyingPoliciesHaveToAllowIt) {
  load(
      "- {name: a, quota: 1, window: 1s, delay: 5s}\n"
      "- {name: b, quota: 3, window: 1h}\n");
  EXPECT_EQ(send(Waits::elsewhere).hold, 0);
  EXPECT_EQ(send(Waits::elsewhere).hold, second);
  EXPECT_EQ(send(Waits::elsewhere).hold, 2 * second);
  const Verdict denied = send(Waits::elsewhere);
  EXPECT_EQ(denied.outcome, Outcome::denied);
  EXPECT_EQ(denied.violated.size(), 2U);
  EXPECT_EQ(denied.denier->name, "b");
  // Nothing was taken from the one that would have let it wait.
  EXPECT_EQ(send(Waits::no).outcome, Outcome::denied);
  EXPECT_EQ(context_.decision(0).decision.wait, 3 * second);
}

TEST_F(Wait, APolicyInShadowDecidesOnceAndDelaysNothing) {
  load(
      "- {name: a, quota: 1, window: 1s, delay: 5s}\n"
      "- {name: trial, quota: 10, window: 1h, mode: shadow}\n"
      "- {name: late, quota: 1, window: 1h, delay: 5s, mode: shadow}\n");
  static_cast<void>(send(Waits::elsewhere));
  const Verdict verdict = send(Waits::elsewhere);
  EXPECT_EQ(verdict.hold, second);
  EXPECT_EQ(verdict.outcome, Outcome::shadow_denied);
  EXPECT_EQ(context_.decision(1).decision.remaining, 8U);
  EXPECT_EQ(counts_[2].delayed, 0U);
}

TEST_F(Wait, TheFieldsAreThoseOfTheMomentAtWhichItPasses) {
  load("- {name: a, quota: 1, window: 3s, delay: 30s}\n");
  for (int i = 0; i < 3; ++i) static_cast<void>(send(Waits::here));
  EXPECT_EQ(limit_field(), "\"a\";r=0;t=3");  // it passes after 6 s
  static_cast<void>(send(Waits::elsewhere));
  EXPECT_EQ(limit_field(), "\"a\";r=0;t=12");
}

TEST_F(Wait, ChecksSayHowLong) {
  load("- {name: a, quota: 2, window: 2s, delay: 10s}\n- {name: b, quota: 9, window: 1h}\n");
  const std::array<Check, 2> checks{Check{"a", "k", 2}, Check{"b", "k", 1}};
  context_.waits = Waits::elsewhere;
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(gate_->decide(checks, limit::Op::spend, noon, context_));
    EXPECT_EQ(context_.results[0].decision.wait, i * 2 * second);
    EXPECT_TRUE(context_.results[0].taken);
    EXPECT_EQ(context_.results[1].decision.wait, 0);
    EXPECT_EQ(context_.results[1].decision.remaining, 8U - static_cast<unsigned>(i));
  }
}

TEST_F(Wait, APeekAnswersAsASpendWould) {
  load("- {name: a, quota: 2, window: 2s, delay: 3s}\n- {name: b, quota: 9, window: 1h}\n");
  const std::array<Check, 2> checks{Check{"a", "k", 2}, Check{"b", "k", 1}};
  context_.waits = Waits::elsewhere;
  for (const Nanos wait : {0, 2}) {
    for (const limit::Op op : {limit::Op::peek, limit::Op::peek, limit::Op::spend}) {
      EXPECT_FALSE(gate_->decide(checks, op, noon, context_));
      EXPECT_TRUE(context_.results[0].decision.admitted);
      EXPECT_EQ(context_.results[0].decision.wait, wait * second);
      EXPECT_TRUE(context_.results[1].decision.admitted);
    }
  }
  EXPECT_EQ(counts_[0].delayed, 1U) << "only the spend";
  for (const limit::Op op : {limit::Op::peek, limit::Op::spend}) {
    EXPECT_FALSE(gate_->decide(checks, op, noon, context_));
    EXPECT_FALSE(context_.results[0].decision.admitted) << "its wait is longer than the delay";
    EXPECT_EQ(context_.results[0].decision.wait, 4 * second);
  }
  context_.waits = Waits::no;
  EXPECT_FALSE(gate_->decide(checks, limit::Op::peek, noon, context_));
  EXPECT_FALSE(context_.results[0].decision.admitted);
}

// The client chooses two headers that contradict each other, and so under which numbers it is
// counted.
TEST_F(Wait, ARequestUnderALesserQuotaGivesBackNothingThatAnotherOneOwes) {
  load(
      "- {name: a, quota: 10, window: 2s, algorithm: fixed-window, aligned: true, delay: 2s,\n"
      "   overrides: [{ids: [10.0.0.0/8], quota: 100}, {ids: [192.0.2.1], quota: 1}]}\n"
      "client-address: {trusted-proxies: [10.0.0.0/8]}\n");
  FakeHeaders headers;
  headers.lines["x-forwarded-for"] = "198.51.100.1";
  policy::Request request;
  request.path = "/";
  request.peer = policy::Address::parse("10.0.0.1");
  request.headers = &headers;
  context_.waits = Waits::elsewhere;
  const auto admits = [&](const char* forwarded, Nanos after) {
    headers.lines["forwarded"] = forwarded;
    gate_->admit(request, Instant{noon.ns + after}, DryRun::no, context_);
    return context_.verdict.outcome == Outcome::admitted;
  };
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(admits("for=198.51.100.2", 0)) << i;
  EXPECT_FALSE(admits("for=198.51.100.2", 0)) << "this window and the next one are spent";
  EXPECT_TRUE(admits("for=192.0.2.1", 2 * second));
  context_.waits = Waits::no;
  EXPECT_FALSE(admits("for=198.51.100.2", 2 * second));
}

TEST_F(Wait, AReservationWaitsAndIsSettled) {
  load(
      "- {name: a, quota: 10, window: 10s, delay: 30s, unit: tokens,\n"
      "   cost: {reserve: 10, settle: {response-header: x-used}}}\n");
  static_cast<void>(send(Waits::elsewhere));
  EXPECT_EQ(send(Waits::elsewhere).hold, 10 * second);
  ASSERT_EQ(context_.verdict.dues.size(), 1U);
  gate_->settle(context_.verdict.dues, context_.now, {.status = 200}, noon);
}

}  // namespace
}  // namespace headgate::gate
