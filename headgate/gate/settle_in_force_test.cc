// What is settled after a reload or an override: the key may be under a longer window by then.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "headgate/gate/gate.h"
#include "headgate/gate/table_options.h"
#include "headgate/gate/testing/policies.h"
#include "headgate/gate/testing/test_store.h"
#include "headgate/policy/live/override.h"

namespace headgate::gate {
namespace {

constexpr Nanos second = nanos_per_second;

// Two policy files, one after the other, over one table.
class SettleInForce : public testing::TestWithParam<Completes> {
 protected:
  using Policies = std::shared_ptr<const policy::PolicySet>;

  static Policies of(const std::string& policy) { return loaded("policies: [{" + policy + "}]\n"); }

  void open(const Policies& former, const Policies& in_force) {
    auto options = table_options(*in_force);
    options.memory = 1 << 20;
    store_ = std::make_unique<TestStore>(GetParam(), options);
    former_ = gate_of(former);
    in_force_ = gate_of(in_force);
    now_ = store_->table().now();
  }

  // Whether the gate admits a request. Its dues can be settled until the next one.
  bool admits(const Gate& gate) {
    const FakeHeaders headers;
    policy::Request request;
    request.method = "GET";
    request.path = "/";
    request.peer = policy::Address::parse("192.0.2.1");
    request.headers = &headers;
    TestStore::Answer answer;
    gate.admit(request, now_, DryRun::no, context_, answer.done());
    store_->complete(answer);
    return context_.verdict.outcome != Outcome::denied;
  }

  // How many requests the gate in force admits. Late costs are 1.
  int admitted() {
    int count = 0;
    FakeHeaders one;
    one.lines["x-cost"] = "1";
    for (; count < 1000 && admits(*in_force_); ++count) {
      if (!in_force_->policies().policies().front().is_late()) continue;
      in_force_->settle(context_.verdict.dues, context_.now, {200, 0, &one}, now_);
      store_->complete_all();
    }
    return count;
  }

  // What is kept of a request until it ends.
  struct Kept {
    explicit Kept(const DecisionContext& context)
        : taken(context.now), dues(context.verdict.dues.begin(), context.verdict.dues.end()) {
      for (const Due& due : dues) keys.emplace_back(due.key);
      for (std::size_t i = 0; i < dues.size(); ++i) dues[i].key = keys[i];
    }
    Instant taken;
    std::vector<Due> dues;
    std::vector<std::string> keys;
  };

  // A request of the former policies has ended. "": its response does not say its cost.
  void settle(const Kept& kept, const std::string& cost, unsigned status = 200) {
    FakeHeaders headers;
    if (!cost.empty()) headers.lines["x-cost"] = cost;
    former_->settle(kept.dues, kept.taken, {status, 0, &headers}, now_, in_force_.get());
    store_->complete_all();
  }

  // A request comes under the former policies and ends later, when nothing is left under those in
  // force. Returns how many requests are admitted then.
  int admitted_after_one_has_ended(const std::string& cost, unsigned status, Nanos later) {
    EXPECT_TRUE(admits(*former_));
    const Kept kept(context_);
    EXPECT_FALSE(kept.dues.empty());
    admitted();
    now_.ns += later;
    admitted();
    settle(kept, cost, status);
    return admitted();
  }

  std::unique_ptr<Gate> gate_of(const Policies& policies) {
    return std::make_unique<Gate>(policies, store_->store(), store_->table().secret(),
                                  std::span<PolicyCounts>());
  }

  std::unique_ptr<TestStore> store_;
  std::unique_ptr<Gate> former_;
  std::unique_ptr<Gate> in_force_;
  DecisionContext context_;
  Instant now_;
};
HEADGATE_WITH_EACH_STORE(SettleInForce);

constexpr const char* const algorithms[] = {"linear", "exponential", "fixed-window",
                                            "moving-window", "sliding-window-counter"};

TEST_P(SettleInForce, ALateCostGivesNothingBack) {
  for (const std::string algorithm : algorithms) {
    const std::string rest = ", cost: {response-header: x-cost}, algorithm: " + algorithm;
    open(of("name: p, quota: 100, window: 2s" + rest),
         of("name: p, quota: 100, window: 1h" + rest));
    EXPECT_LE(admitted_after_one_has_ended("1", 200, 3 * second), 1) << algorithm;
  }
}

TEST_P(SettleInForce, AReservationGivesBackWhatItHasNotUsed) {
  for (const std::string algorithm : algorithms) {
    const std::string rest =
        ", cost: {reserve: 5, settle: {response-header: x-cost}}, algorithm: " + algorithm;
    open(of("name: p, quota: 100, window: 60s" + rest),
         of("name: p, quota: 100, window: 1h" + rest));
    EXPECT_LE(admitted_after_one_has_ended("0", 200, second), 1) << algorithm;
  }
}

TEST_P(SettleInForce, ARefundIsOneOfItsCost) {
  for (const std::string algorithm : algorithms) {
    const std::string rest = ", refund-on: [5xx], algorithm: " + algorithm;
    open(of("name: p, quota: 100, window: 60s" + rest),
         of("name: p, quota: 100, window: 1h" + rest));
    EXPECT_LE(admitted_after_one_has_ended("", 500, second), 1) << algorithm;
  }
}

TEST_P(SettleInForce, ASlotEndsItsOwnLease) {
  const std::string slots = "name: p, quota: 5, algorithm: concurrency, lease: ";
  open(of(slots + "3s"), of(slots + "1h"));
  EXPECT_LE(admitted_after_one_has_ended("", 200, 4 * second), 1);
}

TEST_P(SettleInForce, AnOverrideOfALongerWindowIsInForce) {
  const Policies base =
      of("name: p, quota: 20, window: 60s, cost: {reserve: 5, settle: {response-header: x-cost}}");
  const policy::LiveOverride override{"p", "192.0.2.1", 100, 3600 * second};
  open(base, base->with(std::span(&override, 1)).policies);
  EXPECT_LE(admitted_after_one_has_ended("0", 200, second), 1);
}

TEST_P(SettleInForce, ALateCostOfManyQuotasIsCharged) {
  const std::string rest = ", cost: {response-header: x-cost}";
  open(of("name: p, quota: 100, window: 100s" + rest),
       of("name: p, quota: 100, window: 1h" + rest));
  EXPECT_TRUE(admits(*former_));
  settle(Kept(context_), "100000");
  const int left = admitted();
  EXPECT_GE(left, 90) << "200 units of the former quota are six of this one";
  EXPECT_LE(left, 95);
}

TEST_P(SettleInForce, UnderAShorterWindowNoUnitIsMoreThanOne) {
  for (const std::string algorithm : algorithms) {
    const std::string rest =
        ", cost: {reserve: 5, settle: {response-header: x-cost}}, algorithm: " + algorithm;
    const Policies former = of("name: p, quota: 100, window: 1h" + rest);
    open(former, of("name: p, quota: 100, window: 60s" + rest));
    EXPECT_LE(admitted_after_one_has_ended("0", 200, second), 2) << algorithm;
    open(former, of("name: p, quota: 100, window: 10ms" + rest));
    EXPECT_LE(admitted_after_one_has_ended("0", 200, second), 1) << algorithm;
  }
}

// Requests of before the change, which end after it, leave the state as the change has left it.
TEST_P(SettleInForce, OtherTermsAreInForceToo) {
  const std::string window =
      "name: p, quota: 20, window: 1h, algorithm: fixed-window, refund-on: [5xx]";
  open(of(window + ", aligned: true"), of(window));
  EXPECT_LE(admitted_after_one_has_ended("", 500, second), 1);
  open(of(window + ", aligned: true"), of(window + ", aligned: true, offset: 30m"));
  EXPECT_LE(admitted_after_one_has_ended("", 500, second), 1);
  const std::string linear = "name: p, quota: 20, window: 60s, refund-on: [5xx]";
  open(of(linear), of(linear + ", denied: {penalty: 600s}"));
  EXPECT_EQ(admitted_after_one_has_ended("", 500, second), 0);
}

// Under a quota of 0 nothing has a state: what it blocks is settled as before.
TEST_P(SettleInForce, ABlockForgetsNothing) {
  const std::string late = "name: p, window: 1h, cost: {response-header: x-cost}, quota: ";
  open(of(late + "10"), of(late + "0"));
  EXPECT_TRUE(admits(*former_));
  const Kept late_one(context_);
  settle(late_one, "10");
  EXPECT_FALSE(admits(*former_)) << "its cost is charged";

  const std::string slots = "name: p, algorithm: concurrency, quota: ";
  open(of(slots + "1"), of(slots + "0"));
  EXPECT_TRUE(admits(*former_));
  const Kept slot(context_);
  EXPECT_FALSE(admits(*former_));
  settle(slot, "");
  EXPECT_TRUE(admits(*former_)) << "the slot is free";

  const std::string reserved =
      "name: p, window: 1h, cost: {reserve: 0, settle: {response-header: x-cost}}, quota: ";
  open(of(reserved + "0"), of(reserved + "10"));
  EXPECT_TRUE(admits(*former_)) << "it costs nothing";
  settle(Kept(context_), "5");
}

// Buckets whose windows are shown as one second.
TEST_P(SettleInForce, ATokenBucketOfASlowerRateIsInForce) {
  const std::string rest = ", cost: {reserve: 1, settle: {response-header: x-cost}}";
  open(of("name: p, burst: 10, count: 100, period: 1s" + rest),
       of("name: p, burst: 10, count: 10, period: 1s" + rest));
  EXPECT_LE(admitted_after_one_has_ended("0", 200, 0), 1);
}

TEST_P(SettleInForce, ADebtOfALargerQuotaStays) {
  const std::string rest = ", window: 1h, algorithm: fixed-window, cost: {response-header: x-cost}";
  open(of("name: p, quota: 5" + rest), of("name: p, quota: 100" + rest));
  EXPECT_TRUE(admits(*former_));
  const Kept kept(context_);
  FakeHeaders headers;
  headers.lines["x-cost"] = "194";
  EXPECT_TRUE(admits(*in_force_));
  in_force_->settle(context_.verdict.dues, context_.now, {200, 0, &headers}, now_);
  store_->complete_all();
  now_.ns += 3600 * second;
  settle(kept, "1");
  EXPECT_LE(admitted(), 6);
}

TEST_P(SettleInForce, UnderAShorterWindowNothingChanges) {
  const std::string rest =
      ", cost: {reserve: 50, settle: {response-header: x-cost}}, algorithm: fixed-window";
  open(of("name: p, quota: 100, window: 1h" + rest), of("name: p, quota: 100, window: 60s" + rest));
  EXPECT_EQ(admitted_after_one_has_ended("0", 200, second), 1);
}

}  // namespace
}  // namespace headgate::gate
