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

  // A request comes under the former policies and ends later, when nothing is left under those in
  // force. Returns how many requests are admitted then.
  int admitted_after_one_has_ended(const std::string& cost, unsigned status, Nanos later) {
    EXPECT_TRUE(admits(*former_));
    const Instant taken = context_.now;
    std::vector<Due> dues(context_.verdict.dues.begin(), context_.verdict.dues.end());
    std::vector<std::string> keys;
    for (const Due& due : dues) keys.emplace_back(due.key);
    for (std::size_t i = 0; i < dues.size(); ++i) dues[i].key = keys[i];
    EXPECT_FALSE(dues.empty());
    admitted();
    now_.ns += later;
    admitted();
    FakeHeaders headers;
    if (!cost.empty()) headers.lines["x-cost"] = cost;
    former_->settle(dues, taken, {status, 0, &headers}, now_, in_force_.get());
    store_->complete_all();
    return admitted();
  }

 private:
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

TEST_P(SettleInForce, UnderAShorterWindowNothingChanges) {
  const std::string rest =
      ", cost: {reserve: 50, settle: {response-header: x-cost}}, algorithm: fixed-window";
  open(of("name: p, quota: 100, window: 1h" + rest), of("name: p, quota: 100, window: 60s" + rest));
  EXPECT_EQ(admitted_after_one_has_ended("0", 200, second), 1);
}

}  // namespace
}  // namespace headgate::gate
