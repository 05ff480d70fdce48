// What a request and its response show while the store that machines share is away.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <thread>
#include <vector>

#include "headgate/base/testing/allocations.h"
#include "headgate/gate/gate.h"
#include "headgate/gate/table_options.h"
#include "headgate/policy/file/load.h"
#include "headgate/store/shared_store.h"
#include "headgate/store/table.h"
#include "headgate/store/testing/remote_store.h"

namespace headgate::gate {
namespace {

using testing::HasSubstr;

std::unique_ptr<store::Table> table() { return store::Table::open({.memory = 1 << 20}).value(); }

class Outage : public testing::Test {
 protected:
  void load(const std::string& policies) {
    const auto loaded = policy::load_text(
        "version: 1\nstore: {redis: {nodes: [a:1]}}\npolicies:\n" + policies, "test.yaml");
    ASSERT_TRUE(loaded) << loaded.error().front().text();
    policies_ = *loaded;
    counts_ = std::vector<PolicyCounts>(policies_->policies().size() + 1);
    gate_.emplace(policies_, store_, HashSecret{}, counts_);
  }

  const Verdict& send(std::string_view path = "/") {
    policy::Request request;
    request.path = path;
    gate_->admit(request, std::nullopt, DryRun::no, context_);
    return context_.verdict;
  }
  void end(unsigned status = 200) {
    gate_->settle(context_.verdict.dues, context_.now, {.status = status}, std::nullopt);
  }
  std::string field(std::string_view name) {
    std::array<char, 4096> room;
    Writer out(room);
    for (const Line& line : gate_->field_writer().write(context_.verdict.items, out)) {
      if (line.name == name) return std::string(line.value);
    }
    return "";
  }
  std::string problem() {
    std::array<char, 4096> room;
    Writer out(room);
    EXPECT_TRUE(gate_->field_writer().write_problem(context_.verdict, out));
    return std::string(out.text());
  }

  const std::unique_ptr<store::Table> remote_table_ = table();
  store::RemoteStore remote_{*remote_table_};
  const std::unique_ptr<store::Table> table_ = table();
  store::SharedStore store_{remote_, *table_, [](bool) {}};
  std::shared_ptr<const policy::PolicySet> policies_;
  std::vector<PolicyCounts> counts_;
  std::optional<Gate> gate_;
  DecisionContext context_;
};

TEST_F(Outage, NoFieldIsInvented) {
  load("- {name: a, rate: 10/h}\n- {name: b, rate: 5/h, sharing: none}\n");
  EXPECT_EQ(send().outcome, Outcome::admitted);
  EXPECT_THAT(field("RateLimit"), HasSubstr("\"a\";r=9"));
  remote_.away = true;
  const Verdict& verdict = send();
  EXPECT_EQ(verdict.outcome, Outcome::admitted);
  EXPECT_EQ(field("RateLimit").substr(0, 7), "\"b\";r=3");
  EXPECT_EQ(field("RateLimit-Policy"), "\"b\";q=5;w=3600");
  EXPECT_EQ(verdict.remaining, 3U);
  EXPECT_EQ(counts_[0].outage, 1U);
  EXPECT_EQ(counts_[1].outage, 0U);
}

TEST_F(Outage, TheVerdictSaysIt) {
  load(
      "- {name: a, quota: 2, window: 1h, match: [{path: /}]}\n"
      "- {name: own, quota: 5, window: 1h, sharing: none}\n"
      "- {name: trial, quota: 1, window: 1h, mode: shadow, sharing: none}\n");
  EXPECT_EQ(send().word(), "admitted");
  EXPECT_EQ(send().word(), "shadow-denied");
  EXPECT_EQ(send().word(), "denied");
  remote_.away = true;
  EXPECT_EQ(send("/elsewhere").word(), "shadow-denied") << "no policy needs the remote store";
  EXPECT_EQ(send().word(), "outage-shadow-denied");
  EXPECT_EQ(send().word(), "outage-shadow-denied");
  EXPECT_EQ(send().word(), "outage-denied");
  load("- {name: b, rate: 1/h, match: [{path: /}]}\n- {name: trial, rate: 9/h, mode: shadow}\n");
  EXPECT_EQ(send("/elsewhere").word(), "outage-admitted") << "a shadow policy counts, too";
  remote_.away = false;
  EXPECT_EQ(send().word(), "admitted");
}

TEST_F(Outage, ALocalDenialSaysHowLongToWait) {
  load("- {name: a, rate: 4/h, on-outage: {local: 25%}}\n");
  remote_.away = true;
  EXPECT_EQ(send().outcome, Outcome::admitted);
  const Verdict& verdict = send();
  EXPECT_EQ(verdict.outcome, Outcome::denied);
  EXPECT_EQ(verdict.status(), 429U);
  EXPECT_EQ(verdict.retry_after, 3600U);
  EXPECT_THAT(problem(), HasSubstr("quota-exceeded"));
  EXPECT_EQ(field("RateLimit"), "");
}

TEST_F(Outage, DenyIsAFaultOfTheServer) {
  load("- {name: a, rate: 10/h, on-outage: deny, status: 403}\n- {name: b, rate: 1/h}\n");
  remote_.away = true;
  const Verdict& verdict = send();
  EXPECT_EQ(verdict.outcome, Outcome::denied);
  EXPECT_EQ(verdict.status(), 503U);
  EXPECT_EQ(verdict.retry_after, 1U);
  EXPECT_THAT(problem(), HasSubstr("temporary-reduced-capacity"));
  EXPECT_THAT(problem(), HasSubstr(R"("violated-policies":["a"])"));
}

TEST_F(Outage, ALongerWaitIsTheQuotas) {
  load(
      "- {name: a, rate: 10/h, on-outage: deny}\n- {name: b, rate: 1/h, sharing: none, status: "
      "420}\n");
  EXPECT_EQ(send().outcome, Outcome::admitted);
  remote_.away = true;
  const Verdict& verdict = send();
  EXPECT_EQ(verdict.status(), 420U);
  EXPECT_GT(verdict.retry_after, 3000U);
  EXPECT_THAT(problem(), HasSubstr(R"("violated-policies":["a","b"])"));
}

TEST_F(Outage, ASlotIsReleasedWhereItWasTaken) {
  load("- {name: a, quota: 1, algorithm: concurrency}\n");
  EXPECT_EQ(send().outcome, Outcome::admitted);
  remote_.away = true;
  EXPECT_EQ(send().outcome, Outcome::admitted) << "counted alone";
  remote_.away = false;
  end();  // of the second one
  EXPECT_EQ(send().outcome, Outcome::denied) << "the first one is still in flight";
  remote_.away = true;
  EXPECT_EQ(send().outcome, Outcome::admitted);
}

// The request is denied while the store is away, and is charged all the same, because it may wait,
// when it is back.
TEST_F(Outage, ARequestThatWaitsHasItsSlotWhereItTookItLast) {
  load(
      "- {name: slots, quota: 1, algorithm: concurrency}\n"
      "- {name: own, quota: 1, window: 1s, delay: 9s, sharing: none, match: [{path: /waits}]}\n");
  context_.waits = Waits::elsewhere;
  send("/waits");
  end();
  remote_.away = true;
  remote_.before_answer = [&] { remote_.before_answer = [&] { remote_.away = false; }; };
  const Verdict& verdict = send("/waits");
  ASSERT_FALSE(remote_.away) << "it was asked twice";
  EXPECT_GT(verdict.hold, 0);
  EXPECT_EQ(verdict.word(), "admitted");
  EXPECT_THAT(field("RateLimit"), HasSubstr("\"slots\";r=0"));
  end();
  EXPECT_EQ(send().outcome, Outcome::admitted) << "its slot is free";
}

TEST_F(Outage, WhatAllowAdmitsIsNotGivenBack) {
  load("- {name: a, rate: 3/h, on-outage: allow, refund-on: 5xx}\n");
  for (int i = 0; i < 3; ++i) send();
  EXPECT_EQ(send().outcome, Outcome::denied);
  remote_.away = true;
  EXPECT_EQ(send().outcome, Outcome::admitted);
  remote_.away = false;
  end(500);
  EXPECT_EQ(send().outcome, Outcome::denied);
}

// A request without memory is not limited, and so gives nothing back.
TEST_F(Outage, WhatWasNotTakenWithoutMemoryIsNotGivenBack) {
  const auto policies = [](const std::string& id, const char* shared, const char* own) {
    return "- {name: shared" + id + ", refund-on: 5xx, rate: " + shared + "}\n- {name: own" + id +
           ", refund-on: 5xx, sharing: none, rate: " + own + "}\n";
  };
  for (const bool away : {false, true}) {
    remote_.away = away;
    for (const bool shared_denies : {false, true}) {
      bool failed = true;
      for (std::size_t before = 0; failed; ++before) {
        const std::string id =
            std::to_string(before) + (away ? "-away" : "-here") + (shared_denies ? "-s" : "-o");
        load(shared_denies ? policies(id, "3/h", "9/h") : policies(id, "9/h", "3/h"));
        for (int i = 0; i < 3; ++i) EXPECT_EQ(send().outcome, Outcome::admitted);
        {
          const FailingAllocation failure(before);
          std::thread([&] {
            send();
            end(500);
          }).join();
          failed = failure.happened();
        }
        EXPECT_EQ(send().outcome, Outcome::denied) << id;
      }
    }
  }
}

TEST_F(Outage, ChecksShowWhatWasDecidedWithoutTheStore) {
  load("- {name: a, rate: 3/h}\n- {name: b, rate: 3/h, on-outage: allow}\n");
  remote_.away = true;
  const Check checks[] = {{"a", "k", 1}, {"b", "k", 5}};
  ASSERT_FALSE(gate_->decide(checks, limit::Op::spend, std::nullopt, context_));
  for (const CheckResult& result : context_.results) {
    EXPECT_TRUE(result.decision.admitted);
    EXPECT_TRUE(result.outage);
    EXPECT_EQ(result.decision.remaining, 0U);
    EXPECT_EQ(result.decision.reset, limit::Decision::no_reset);
  }
}

// Whether it was settled by another machine is known again when the store is back.
TEST_F(Outage, AReservationIsSettledAfterIt) {
  load("- {name: a, quota: 100, window: 1h}\n");
  const Check reserved{"a", "x", 60};
  ASSERT_EQ(gate_->reserve({&reserved, 1}, std::nullopt, context_), std::nullopt);
  ASSERT_EQ(context_.verdict.dues.size(), 1U);
  Due due = context_.verdict.dues[0];
  const std::string key(due.key);
  due.key = key;
  const Instant taken = context_.now;
  const auto settle = [&] {
    const std::optional<std::uint64_t> cost = 10;
    EXPECT_TRUE(gate_->settle({"id", taken, {&due, 1}}, {&cost, 1}, std::nullopt, context_));
    return context_.settled;
  };
  const auto left = [&] {
    const Check look{"a", "x", 0};
    EXPECT_EQ(gate_->decide({&look, 1}, limit::Op::peek, std::nullopt, context_), std::nullopt);
    return context_.results[0].decision.remaining;
  };
  EXPECT_EQ(left(), 40U);
  remote_.away = true;
  EXPECT_EQ(settle(), Settled::unknown);
  remote_.away = false;
  EXPECT_EQ(left(), 40U);
  EXPECT_EQ(settle(), Settled::yes);
  EXPECT_EQ(left(), 90U);
  EXPECT_EQ(settle(), Settled::no);
  EXPECT_EQ(left(), 90U);
}

// Nothing of it is in the store that is away, so nobody else can have settled it.
TEST_F(Outage, AReservationOfAnOutageIsSettledDuringIt) {
  load("- {name: a, quota: 1, algorithm: concurrency}\n- {name: b, quota: 100, window: 1h}\n");
  remote_.away = true;
  const Check reserved[] = {{"a", "x", 1}, {"b", "x", 60}};
  for (const std::string id : {"one", "other"}) {
    ASSERT_EQ(gate_->reserve(reserved, std::nullopt, context_), std::nullopt);
    ASSERT_EQ(context_.verdict.outcome, Outcome::admitted);
    std::vector<Due> dues(context_.verdict.dues.begin(), context_.verdict.dues.end());
    std::vector<std::string> keys;
    for (const Due& due : dues) keys.emplace_back(due.key);
    for (std::size_t i = 0; i < dues.size(); ++i) dues[i].key = keys[i];
    const std::optional<std::uint64_t> costs[] = {1, 5};
    const Instant taken = context_.now;
    EXPECT_TRUE(gate_->settle({id, taken, dues}, costs, std::nullopt, context_));
    EXPECT_EQ(context_.settled, Settled::yes);
    EXPECT_TRUE(gate_->settle({id, taken, dues}, costs, std::nullopt, context_));
    EXPECT_EQ(context_.settled, Settled::no);
  }
}

// It is noted that it was settled, and its correction is lost.
TEST_F(Outage, AReservationThatWasNotCorrectedIsNotCalledSettled) {
  load("- {name: a, quota: 100, window: 1h}\n");
  const Check reserved{"a", "x", 60};
  ASSERT_EQ(gate_->reserve({&reserved, 1}, std::nullopt, context_), std::nullopt);
  Due due = context_.verdict.dues[0];
  const std::string key(due.key);
  due.key = key;
  remote_.before_answer = [&] { remote_.before_answer = [&] { remote_.away = true; }; };
  const std::optional<std::uint64_t> cost = 10;
  EXPECT_TRUE(gate_->settle({"id", context_.now, {&due, 1}}, {&cost, 1}, std::nullopt, context_));
  ASSERT_TRUE(remote_.away) << "it was asked twice";
  EXPECT_EQ(context_.settled, Settled::unknown);
}

}  // namespace
}  // namespace headgate::gate
