// Decisions on the descriptors of Envoy's rate limit protocol.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "headgate/gate/gate.h"
#include "headgate/gate/table_options.h"
#include "headgate/gate/testing/test_store.h"
#include "headgate/policy/envoy/limit.h"
#include "headgate/policy/envoy/read_envoy.h"
#include "headgate/policy/file/load.h"

namespace headgate::gate {
namespace {

using limit::Op;
using testing::ElementsAre;

constexpr const char* configuration = R"(domain: shop
descriptors:
  - {key: a, rate_limit: {unit: year, requests_per_unit: 3}}
  - {key: b, rate_limit: {unit: year, requests_per_unit: 10, name: tens}}
  - {key: shadow, shadow_mode: true, rate_limit: {unit: year, requests_per_unit: 1}}
  - {key: q1, quota_mode: true, rate_limit: {unit: year, requests_per_unit: 1}}
  - {key: q2, quota_mode: true, rate_limit: {unit: year, requests_per_unit: 2}}
  - {key: dark, quota_mode: true, shadow_mode: true, rate_limit: {unit: year, requests_per_unit: 1}}
  - {key: none, rate_limit: {unit: year, requests_per_unit: 0}}
  - {key: free, rate_limit: {unlimited: true}}
  - {key: better, rate_limit: {unit: year, requests_per_unit: 2, replaces: [{name: tens}]}}
)";

struct Request {
  std::string key;
  std::uint64_t cost = 1;
  Op op = Op::spend;
  const policy::Grant* grant = nullptr;
};

class TestGate {
 public:
  explicit TestGate(Completes when, const std::string& more = "") {
    const std::string file = testing::TempDir() + "descriptors" + std::to_string(getpid());
    std::ofstream(file) << configuration;
    auto loaded = policy::load_text("version: 1\nenvoy: [{file: " + file + more + "}]\n", "");
    unlink(file.c_str());
    if (!loaded) {
      for (const auto& fault : loaded.error()) ADD_FAILURE() << fault.text();
      std::abort();
    }
    policies = *loaded;
    auto options = table_options(*policies);
    options.memory = 1 << 20;
    options.clock = &store::ClockSource::still();
    store_.emplace(when, options);
    counts = std::vector<PolicyCounts>(policies->policies().size() + 1);
    gate_ = std::make_unique<Gate>(policies, store_->store(), store_->table().secret(), counts);
  }

  // r of every descriptor; -1 if it is denied, -2 if it has no limit.
  std::vector<int> send(const std::vector<Request>& requests, const std::string& domain = "shop") {
    std::vector<policy::DescriptorEntry> entries;
    std::vector<policy::Descriptor> descriptors;
    std::vector<Op> ops;
    entries.reserve(requests.size());
    for (const Request& one : requests) {
      entries.push_back({one.key, "x"});
      descriptors.push_back({{&entries.back(), 1}, one.cost, one.grant});
      ops.push_back(one.op);
    }
    TestStore::Answer answer;
    EXPECT_TRUE(
        gate_->decide(domain, descriptors, ops, store_->table().now(), context, answer.done()));
    // None of it has to last until the answer.
    entries.clear();
    descriptors.clear();
    ops.clear();
    store_->complete(answer);
    std::vector<int> left;
    for (const CheckResult& result : context.results) {
      left.push_back(!result.limited             ? -2
                     : !result.decision.admitted ? -1
                                                 : static_cast<int>(result.decision.remaining));
    }
    return left;
  }
  [[nodiscard]] std::optional<CheckFault> decide(const Check& check) {
    const auto fault = gate_->decide({&check, 1}, Op::spend, store_->table().now(), context);
    store_->complete_all();
    return fault;
  }
  [[nodiscard]] bool denied() const { return context.verdict.outcome == Outcome::denied; }

  std::string ratelimit() {
    std::array<char, 4096> room;
    Writer out(room);
    std::string all;
    for (const Line& line : gate_->field_writer().write(context.verdict.items, out)) {
      all += std::string(line.name) + ": " + std::string(line.value) + '\n';
    }
    return all;
  }

  std::shared_ptr<const policy::PolicySet> policies;
  DecisionContext context;
  std::vector<PolicyCounts> counts;

 private:
  std::optional<TestStore> store_;
  std::unique_ptr<Gate> gate_;
};

class DecideDescriptors : public testing::TestWithParam<Completes> {};
HEADGATE_WITH_EACH_STORE(DecideDescriptors);

TEST_P(DecideDescriptors, EachCountsForItself) {
  TestGate gate(GetParam());
  EXPECT_THAT(gate.send({{"a", 3}, {"b"}}), ElementsAre(0, 9));
  EXPECT_FALSE(gate.denied());
  EXPECT_THAT(gate.send({{"a"}, {"b"}}), ElementsAre(-1, 8));
  EXPECT_TRUE(gate.denied());
  EXPECT_THAT(gate.send({{"b"}, {"b"}}), ElementsAre(7, 6)) << "the same twice counts twice";
}

TEST_P(DecideDescriptors, DeniedHitsCount) {
  TestGate gate(GetParam());
  EXPECT_THAT(gate.send({{"b", 9}}), ElementsAre(1));
  EXPECT_THAT(gate.send({{"b", 2}}), ElementsAre(-1));
  EXPECT_THAT(gate.send({{"b", 1}}), ElementsAre(-1)) << "the two used up the one that was left";
  TestGate lenient(GetParam(), ", denied: free");
  EXPECT_THAT(lenient.send({{"b", 9}}), ElementsAre(1));
  EXPECT_THAT(lenient.send({{"b", 2}}), ElementsAre(-1));
  EXPECT_THAT(lenient.send({{"b", 1}}), ElementsAre(0));
}

TEST_P(DecideDescriptors, AllDeniedHitsCount) {
  TestGate gate(GetParam());
  EXPECT_THAT(gate.send({{"a", 3}}), ElementsAre(0));
  EXPECT_THAT(gate.send({{"a", 5}}), ElementsAre(-1)) << "above the limit, too: 8 hits";
  EXPECT_THAT(gate.send({{"a", 4, Op::refund}, {"a", 0}}), ElementsAre(0, -1)) << "4 of 3";
  EXPECT_THAT(gate.send({{"a", 1, Op::refund}, {"a", 0}}), ElementsAre(0, 0)) << "3 of 3";
  EXPECT_THAT(gate.send({{"a", 2, Op::refund}, {"a", 0}}), ElementsAre(2, 2)) << "1 of 3";
}

TEST_P(DecideDescriptors, TheWindowsEndIsNamed) {
  constexpr std::uint64_t end = 365 * 86'400 - 3600;  // the test's clock shows 01:00 in 1970
  TestGate gate(GetParam());
  EXPECT_THAT(gate.send({{"a", 0}}), ElementsAre(3));
  EXPECT_EQ(gate.context.results[0].decision.reset, end) << "also where nothing was spent";
  EXPECT_THAT(gate.send({{"a", 4}}), ElementsAre(-1));
  EXPECT_EQ(gate.context.results[0].decision.reset, end) << "also above the limit";
  EXPECT_EQ(gate.context.verdict.retry_after, end) << "until then nothing passes";
  EXPECT_THAT(gate.ratelimit(), testing::HasSubstr("\"a\";r=0;t=" + std::to_string(end)));

  TestGate lenient(GetParam(), ", denied: free");
  EXPECT_THAT(lenient.send({{"a", 4}}), ElementsAre(-1));
  EXPECT_EQ(lenient.context.results[0].decision.reset, end);
  EXPECT_FALSE(lenient.context.verdict.retry_after) << "three hits pass now, four never";
}

TEST_P(DecideDescriptors, ACostOfZeroChecksWhetherTheLimitIsExceeded) {
  TestGate gate(GetParam());
  EXPECT_THAT(gate.send({{"a", 0}}), ElementsAre(3));
  EXPECT_THAT(gate.send({{"a", 3}}), ElementsAre(0));
  EXPECT_THAT(gate.send({{"a", 0}}), ElementsAre(0)) << "used up, and not exceeded";
  EXPECT_THAT(gate.send({{"a", 1}}), ElementsAre(-1));
  EXPECT_THAT(gate.send({{"a", 0}}), ElementsAre(-1));

  TestGate linear(GetParam(), ", algorithm: linear");
  EXPECT_THAT(linear.send({{"a", 0}}), ElementsAre(3));
  EXPECT_THAT(linear.send({{"a", 3}}), ElementsAre(0));
  EXPECT_THAT(linear.send({{"a", 0}}), ElementsAre(-1)) << "nothing is left";
  EXPECT_GT(linear.context.results[0].decision.wait, 0);
  EXPECT_THAT(linear.send({{"a", 1, Op::refund}, {"a", 0}}), ElementsAre(1, 1));
}

TEST_P(DecideDescriptors, RefundsGiveBack) {
  TestGate gate(GetParam());
  EXPECT_THAT(gate.send({{"a", 2}}), ElementsAre(1));
  EXPECT_THAT(gate.send({{"a", 1, Op::refund}}), ElementsAre(2));
  EXPECT_THAT(gate.send({{"a", 9, Op::refund}}), ElementsAre(3)) << "at most what was taken";
  EXPECT_EQ(gate.counts[0].refunded.load(), 2u);
  EXPECT_EQ(gate.counts[0].admitted.load(), 1u);
}

TEST_P(DecideDescriptors, ShadowNeverDenies) {
  TestGate gate(GetParam());
  EXPECT_THAT(gate.send({{"shadow"}}), ElementsAre(0));
  EXPECT_THAT(gate.send({{"shadow"}, {"b"}}), ElementsAre(-1, 9));
  EXPECT_EQ(gate.context.verdict.outcome, Outcome::shadow_denied);
  EXPECT_EQ(gate.counts[0].shadow_denied.load(), 1u);
}

TEST_P(DecideDescriptors, QuotaModeDeniesWhereAllDo) {
  TestGate gate(GetParam());
  EXPECT_THAT(gate.send({{"q1"}, {"q2"}}), ElementsAre(0, 1));
  EXPECT_FALSE(gate.denied());
  EXPECT_THAT(gate.send({{"q1"}, {"q2"}}), ElementsAre(-1, 0));
  EXPECT_FALSE(gate.denied());
  EXPECT_THAT(gate.send({{"q1"}, {"q2"}}), ElementsAre(-1, -1));
  EXPECT_TRUE(gate.denied());
  EXPECT_THAT(gate.send({{"q1"}, {"b"}}), ElementsAre(-1, 9));
  EXPECT_TRUE(gate.denied()) << "all that are of this kind";
}

TEST_P(DecideDescriptors, QuotaModeNeverDeniesBesideOneInShadowMode) {
  TestGate gate(GetParam());
  EXPECT_THAT(gate.send({{"q1", 2}, {"dark", 2}}), ElementsAre(-1, -1));
  EXPECT_FALSE(gate.denied()) << "one that never denies has not failed";
  EXPECT_THAT(gate.send({{"dark"}}), ElementsAre(-1));
  EXPECT_FALSE(gate.denied());
  EXPECT_THAT(gate.send({{"q1"}}), ElementsAre(-1));
  EXPECT_TRUE(gate.denied());
}

TEST_P(DecideDescriptors, SomeHaveNoLimit) {
  TestGate gate(GetParam());
  EXPECT_THAT(gate.send({{"unknown"}, {"free"}, {"none"}}), ElementsAre(-2, -2, -1));
  EXPECT_EQ(gate.context.results[0].policy, nullptr);
  ASSERT_NE(gate.context.results[1].policy, nullptr);
  EXPECT_TRUE(gate.context.results[1].grant->unlimited);
  EXPECT_TRUE(gate.denied());
  EXPECT_FALSE(gate.context.verdict.retry_after) << "no time helps where nothing is granted";
  EXPECT_THAT(gate.send({{"a"}}, "elsewhere"), ElementsAre(-2));
  EXPECT_EQ(gate.context.verdict.outcome, Outcome::off);
  EXPECT_THAT(gate.send({{"b"}, {"better"}}), ElementsAre(-2, 1)) << "replaced";
}

TEST_P(DecideDescriptors, FieldsHaveTheNamesOfLimits) {
  TestGate gate(GetParam());
  gate.send({{"a"}, {"b"}, {"shadow"}});
  EXPECT_THAT(gate.ratelimit(),
              testing::MatchesRegex("RateLimit-Policy: \"a\";q=3;w=31536000, "
                                    "\"tens\";q=10;w=31536000\n"
                                    "RateLimit: \"a\";r=2;t=[0-9]+, \"tens\";r=9;t=[0-9]+\n"));
}

TEST_P(DecideDescriptors, ALimitOfTheRequestsOwn) {
  TestGate gate(GetParam());
  policy::EnvoyLimit limit;
  limit.unit = policy::EnvoyUnit::year;
  limit.requests_per_unit = 1;
  const auto grant = policy::envoy_grant(limit, gate.policies->policies()[0].terms);
  ASSERT_TRUE(grant);
  EXPECT_THAT(gate.send({{"a", 1, Op::spend, &*grant}, {"a"}}), ElementsAre(0, 2));
  EXPECT_THAT(gate.ratelimit(), testing::HasSubstr("RateLimit: \"a\";r=2;"));
  EXPECT_THAT(gate.send({{"a", 1, Op::spend, &*grant}, {"a"}}), ElementsAre(-1, 1));
  EXPECT_TRUE(gate.denied());
  EXPECT_THAT(gate.send({{"unknown", 1, Op::spend, &*grant}}), ElementsAre(0));
  EXPECT_EQ(gate.ratelimit(), "");
}

// A check by name spends the bucket of the descriptor.
TEST_P(DecideDescriptors, NamesReachTheSameBucket) {
  TestGate gate(GetParam());
  EXPECT_THAT(gate.send({{"a"}}), ElementsAre(2));
  const Check check{"shop", "a=x"};
  EXPECT_FALSE(gate.decide(check));
  EXPECT_EQ(gate.context.results[0].decision.remaining, 1u);
  EXPECT_THAT(gate.send({{"a"}}), ElementsAre(0));
  const Check shadow{"shop", "shadow=x", 5};
  EXPECT_FALSE(gate.decide(shadow));
  EXPECT_EQ(gate.context.verdict.outcome, Outcome::shadow_denied);
}

TEST_P(DecideDescriptors, AsManyDescriptorsAsAllowed) {
  TestGate gate(GetParam());
  const std::vector<Request> all(policy::policies_per_request_max, Request{"b"});
  const auto left = gate.send(all);
  ASSERT_EQ(left.size(), policy::policies_per_request_max);
  EXPECT_EQ(left[9], 0);
  EXPECT_EQ(left[10], -1);
}

}  // namespace
}  // namespace headgate::gate
