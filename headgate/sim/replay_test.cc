#include "headgate/sim/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "headgate/limit/testing/key_state.h"
#include "headgate/policy/file/load.h"

namespace headgate::sim {
namespace {

using Json = nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The simplest store: a map from key to state.
class MapStore final : public store::Store {
 public:
  [[nodiscard]] Instant now() const noexcept override { return {}; }

  using Store::take;
  void take(std::span<store::Bundle> bundles, std::optional<Instant>& now,
            store::Completion done) noexcept override {
    if (!now) now = this->now();
    for (store::Bundle& bundle : bundles) {
      ++bundles_taken;
      bundle.admitted = true;
      for (std::size_t i = 0; i < bundle.charges.size(); ++i) {
        store::Charge look = bundle.charges[i];
        if (look.op == limit::Op::spend) look.op = limit::Op::peek;
        bundle.decisions[i] = decide(look, *now);
        bundle.admitted = bundle.admitted && bundle.decisions[i].admitted;
      }
      for (std::size_t i = 0; i < bundle.charges.size(); ++i) {
        const store::Charge& charge = bundle.charges[i];
        if (charge.op != limit::Op::spend) continue;
        store::Charge look{charge.law, charge.key, 0, limit::Op::peek};
        const bool take = bundle.admitted || !bundle.decisions[i].admitted;
        bundle.decisions[i] = decide(take ? charge : look, *now);
      }
    }
    done.call(done.context);
  }

  int bundles_taken = 0;

 private:
  limit::Decision decide(const store::Charge& charge, Instant now) {
    limit::KeyState& key = keys_.try_emplace(std::string(charge.key)).first->second;
    return key.take(*charge.law, charge.op, charge.cost, now, charge.since);
  }

  std::map<std::string, limit::KeyState, std::less<>> keys_;
};

constexpr char policies_yaml[] = R"(version: 1
policies:
  - {name: burst, quota: 2, window: 10s}
  - {name: daily, quota: 10, window: 1d}
  - {name: quiet, quota: 1, window: 10s, mode: shadow}
  - {name: idle, quota: 1, window: 10s, mode: off}
  - name: vip
    quota: 1
    window: 10s
    key: [header:x-user]
    overrides: [{ids: [gold], quota: unlimited}]
  - {name: slots, quota: 3, algorithm: concurrency}
  - {name: tokens, quota: 100, window: 100s, cost: {response-header: x-tokens}}
  - {name: p, quota: 2, window: 10s, candidate: {quota: 1, share: 50%}}
)";

class ReplayTest : public ::testing::Test {
 protected:
  ReplayTest() : simulator_(load(), store_) {}
  ~ReplayTest() override { std::filesystem::remove(path_); }

  static std::shared_ptr<const policy::PolicySet> load() {
    auto loaded = policy::load_text(policies_yaml, "test.yaml");
    if (!loaded) throw std::runtime_error(loaded.error().front().text());
    return *loaded;
  }

  // The decisions, one per line.
  std::vector<std::string> replay(const std::string& trace) {
    std::ofstream(path_) << trace;
    auto lines = Lines::open(path_);
    std::stringstream decisions;
    const auto done = replay_trace(*lines, "trace", simulator_, &decisions,
                                   [&](const std::string& what) { complaints_.push_back(what); });
    EXPECT_TRUE(done) << done.error();
    std::vector<std::string> all;
    for (std::string line; std::getline(decisions, line);) all.push_back(line);
    return all;
  }
  Json summary() { return Json::parse(simulator_.summary().json()); }

  MapStore store_;
  Simulator simulator_;
  std::vector<std::string> complaints_;
  const std::string path_ =
      std::filesystem::temp_directory_path() / ("headgate-replay-" + std::to_string(getpid()));
};

TEST_F(ReplayTest, EachLineGetsItsDecisionInItsOwnTime) {
  EXPECT_THAT(
      replay(R"({"t": 0, "policy": "burst", "key": "a"}
{"t": 0, "policy": "burst", "key": "a"}
{"t": 1, "policy": "burst", "key": "a"}
{"t": 1, "policy": "burst", "key": "b", "cost": 3}
{"t": 5000000000, "op": "peek", "policy": "burst", "key": "a"}
{"t": 5000000000, "op": "refund", "policy": "burst", "key": "a"}
{"t": -5, "policy": "burst", "key": "z", "cost": 2}
)"),
      ElementsAre(R"({"admitted": true, "r": 1, "reset": 5, "wait": 0, "wait_ns": 0})",
                  R"({"admitted": true, "r": 0, "reset": 5, "wait": 0, "wait_ns": 0})",
                  R"({"admitted": false, "r": 0, "reset": 5, "wait": 5, "wait_ns": 4999999999})",
                  R"({"admitted": false, "r": 2, "reset": null, "wait": null, "wait_ns": null})",
                  R"({"admitted": true, "r": 1, "reset": 5, "wait": 0, "wait_ns": 0})",
                  R"({"admitted": true, "r": 2, "reset": 10, "wait": 0, "wait_ns": 0})",
                  R"({"admitted": true, "r": 0, "reset": 5, "wait": 0, "wait_ns": 0})"));
  EXPECT_THAT(complaints_, ElementsAre());
  const Json sum = summary();
  EXPECT_EQ(sum["requests"], 5);  // peeks and refunds are not requests
  EXPECT_EQ(sum["admitted"], 3);
  EXPECT_EQ(sum["denied"], 2);
  EXPECT_EQ(sum["span_s"], 5.000000005);
}

TEST_F(ReplayTest, SeveralPoliciesAreOneBundleAndSpentAllOrNone) {
  const auto got = replay(R"({"t": 0, "policy": ["burst", "daily"], "key": "a", "cost": [2, 1]}
{"t": 0, "policy": ["burst", "daily"], "key": "a", "cost": [1, 1]}
)");
  EXPECT_EQ(store_.bundles_taken, 2);
  ASSERT_EQ(got.size(), 2u);
  const Json first = Json::parse(got[0]);
  EXPECT_EQ(first["admitted"], true);
  EXPECT_EQ(first["r"], 0);
  EXPECT_EQ(first["results"][1]["r"], 9);
  const Json second = Json::parse(got[1]);
  EXPECT_EQ(second["admitted"], false);
  EXPECT_EQ(second["wait"], 5);
  EXPECT_EQ(second["results"][0]["admitted"], false);
  EXPECT_EQ(second["results"][1]["admitted"], true);
  EXPECT_EQ(second["results"][1]["r"], 9);
  const Json sum = summary();
  EXPECT_EQ(sum["policies"][0]["denied"], 1);
  EXPECT_EQ(sum["policies"][1]["denied"], 0);
  EXPECT_EQ(sum["policies"][1]["admitted"], 1);
}

TEST_F(ReplayTest, ShadowPoliciesDenyNothingAndSpendAsIfAlone) {
  const auto got = replay(R"({"t": 0, "policy": ["quiet", "burst"], "key": "a"}
{"t": 0, "policy": ["quiet", "burst"], "key": "a"}
{"t": 0, "policy": "quiet", "key": "a"}
)");
  const Json second = Json::parse(got[1]);
  EXPECT_EQ(second["admitted"], true);
  EXPECT_EQ(second["r"], 0);
  EXPECT_EQ(second["results"][0]["admitted"], false);
  EXPECT_EQ(second["results"][1]["admitted"], true);
  const Json third = Json::parse(got[2]);
  EXPECT_EQ(third["admitted"], true);
  EXPECT_EQ(third["wait"], 0);
  const Json sum = summary();
  EXPECT_EQ(sum["denied"], 0);
  EXPECT_EQ(sum["policies"][2]["denied"], 2);
}

TEST_F(ReplayTest, ALineIsAnsweredByTheNumbersInForceAndCountsForBoth) {
  // For the key a the candidate is in force (from 35% on), for b it is not (from 73% on).
  EXPECT_THAT(
      replay(R"({"t": 0, "policy": "p", "key": "a"}
{"t": 0, "policy": "p", "key": "a"}
{"t": 0, "policy": "p", "key": "b"}
{"t": 0, "policy": "p", "key": "b"}
)"),
      ElementsAre(R"({"admitted": true, "r": 0, "reset": 10, "wait": 0, "wait_ns": 0})",
                  R"({"admitted": false, "r": 0, "reset": 10, "wait": 10, "wait_ns": 10000000000})",
                  R"({"admitted": true, "r": 1, "reset": 5, "wait": 0, "wait_ns": 0})",
                  R"({"admitted": true, "r": 0, "reset": 5, "wait": 0, "wait_ns": 0})"));
  const Json policies = summary()["policies"];
  const auto of = [&](const std::string& name) {
    for (const Json& one : policies) {
      if (one["name"] == name) {
        return std::vector<int>{one["partitions"], one["admitted"], one["denied"]};
      }
    }
    return std::vector<int>{};
  };
  EXPECT_THAT(of("p"), ElementsAre(2, 4, 0));
  EXPECT_THAT(of("p (candidate)"), ElementsAre(2, 2, 2));
}

TEST_F(ReplayTest, WithoutALimitThereAreNoFigures) {
  const std::string free =
      R"({"admitted": true, "r": null, "reset": null, "wait": 0, "wait_ns": 0})";
  EXPECT_THAT(replay(R"({"t": 0, "policy": "idle", "key": "a", "cost": 5}
{"t": 0, "policy": "vip", "key": "gold", "cost": 5}
)"),
              ElementsAre(free, free));
  EXPECT_EQ(store_.bundles_taken, 0);
}

TEST_F(ReplayTest, UnreadableLinesAreCountedAndTheFirstAreReported) {
  std::string trace = R"({"t": 0, "policy": "bursts", "key": "a"}
{"t": 0, "policy": ["burst", "burst"], "key": "a"}

)";
  for (int i = 0; i < 7; ++i) trace += "x\n";
  trace += R"({"t": 0, "policy": "burst", "key": "a"})";
  const auto got = replay(trace);
  ASSERT_EQ(got.size(), 11u);
  EXPECT_EQ(got[0], R"({"error":"no policy is named \"bursts\""})");
  EXPECT_THAT(got[10], HasSubstr("\"admitted\": true"));
  EXPECT_EQ(summary()["skipped"], 10);
  EXPECT_EQ(summary()["requests"], 1);
  ASSERT_EQ(complaints_.size(), complaints_max + 1);
  EXPECT_EQ(complaints_[0], "trace:1: no policy is named \"bursts\"");
  EXPECT_THAT(complaints_[1], HasSubstr("trace:2: policy \"burst\" is asked twice"));
  EXPECT_THAT(complaints_[2], HasSubstr("trace:3: "));
  EXPECT_THAT(complaints_.back(), HasSubstr("only counted"));
}

TEST(DecisionJson, PrintsWaitsBeyondSixtyFourBits) {
  Answers answers;
  answers.verdict.admitted = false;
  answers.verdict.remaining = 1;
  answers.verdict.wait = static_cast<Nanos>(100'000'000'000) * 1'000'000'000 + 1;
  EXPECT_EQ(decision_json(answers, false),
            R"({"admitted": false, "r": 1, "reset": null, "wait": 100000000001, )"
            R"("wait_ns": 100000000000000000001})");
}

TEST_F(ReplayTest, SlotsAreReleased) {
  EXPECT_THAT(
      replay(R"({"t": 0, "policy": "slots", "key": "a", "cost": 2}
{"t": 1, "policy": "slots", "key": "a", "cost": 2}
{"t": 2, "op": "release", "policy": "slots", "key": "a"}
{"t": 3, "policy": "slots", "key": "a", "cost": 2}
{"t": 4, "op": "release", "policy": "burst", "key": "a"}
)"),
      ElementsAre(R"({"admitted": true, "r": 1, "reset": null, "wait": 0, "wait_ns": 0})",
                  R"({"admitted": false, "r": 1, "reset": null, "wait": null, "wait_ns": null})",
                  R"({"admitted": true, "r": 2, "reset": null, "wait": 0, "wait_ns": 0})",
                  R"({"admitted": true, "r": 0, "reset": null, "wait": 0, "wait_ns": 0})",
                  HasSubstr("expected refund")));
  const Json slots = summary()["policies"][5];
  EXPECT_EQ(slots["admitted"], 2);
  EXPECT_EQ(slots["denied"], 1);
  EXPECT_EQ(slots["peak_window_units"], 3) << "at the same time";
  EXPECT_THAT(simulator_.summary().text(), HasSubstr("at most 3 units at the same time"));
}

TEST_F(ReplayTest, ACostKnownFromTheResponseIsChargedInFull) {
  EXPECT_THAT(
      replay(R"({"t": 0, "policy": "tokens", "key": "a", "cost": 150}
{"t": 0, "policy": "tokens", "key": "a", "cost": 1}
{"t": 51000000000, "policy": "tokens", "key": "a", "cost": 30}
{"t": 51000000000, "policy": ["tokens", "burst"], "key": ["b", "a"], "cost": [500, 3]}
{"t": 51000000000, "policy": ["tokens", "burst"], "key": ["b", "a"], "cost": [500, 2]}
)"),
      ElementsAre(R"({"admitted": true, "r": 0, "reset": 51, "wait": 0, "wait_ns": 0})",
                  R"({"admitted": false, "r": 0, "reset": 51, "wait": 51, "wait_ns": 51000000000})",
                  R"({"admitted": true, "r": 0, "reset": 30, "wait": 0, "wait_ns": 0})",
                  HasSubstr(R"("results": [{"admitted": true, "r": 99,)"),
                  HasSubstr(R"("results": [{"admitted": true, "r": 0, "reset": 101,)")));
  EXPECT_EQ(summary()["policies"][6]["peak_window_units"], 500);
}

}  // namespace
}  // namespace headgate::sim
