// Boulder's token buckets: every field of every step of the reference vectors, and that any store's
// linear law decides the same.
#include "headgate/limit/boulder.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "headgate/base/testing/source_tree.h"
#include "headgate/limit/law.h"
#include "headgate/limit/testing/boulder_buckets.h"

namespace headgate::limit {
namespace {

using nlohmann::json;
using Kind = BoulderCharge::Kind;
using Answer = Result<BoulderAnswer, BoulderError>;

Nanos integer(const json& value) { return value.get<std::int64_t>(); }

// The buckets of one sequence, with one of the three meanings of t.
class Buckets {
 public:
  explicit Buckets(const json& limits, Reset reset) {
    for (const auto& [name, limit] : limits.items()) {
      limits_.emplace(name, BoulderLimit::make(limit["burst"], limit["count"],
                                               integer(limit["period_ns"]), reset)
                                .value());
    }
  }

  Answer apply(const json& step) {
    const Instant now{integer(step["at"])};
    const std::string op = step["op"];
    if (op == "reset") {
      tats_.erase(step["key"]);
      return BoulderAnswer{};
    }
    if (op == "batch") {
      std::vector<BoulderCharge> charges;
      for (const json& charge : step["txns"]) charges.push_back(one(charge, charge["kind"]));
      return boulder_batch(charges, now);
    }
    if (op == "refund" || op == "refund_check_only") {
      const BoulderCharge charge = one(step, "check");
      return charge.limit->refund(*charge.tat, op == "refund" ? charge.cost : 0, now);
    }
    const BoulderCharge charge = one(step, op == "spend"   ? "check_spend"
                                           : op == "check" ? "check"
                                                           : "spend");
    return boulder_batch({&charge, 1}, now);
  }

 private:
  BoulderCharge one(const json& charge, const std::string& kind) {
    const std::map<std::string, Kind> kinds{{"check_spend", Kind::check_spend},
                                            {"check", Kind::check},
                                            {"spend", Kind::spend},
                                            {"allow", Kind::allow}};
    auto& [key, tat] = *tats_.try_emplace(charge["key"]).first;
    return {&limits_.at(charge["limit"]), key, charge["cost"], kinds.at(kind), &tat};
  }

  std::map<std::string, BoulderLimit> limits_;
  std::map<std::string, std::optional<BoulderLimit::Tat>> tats_;
};

void expect(const json& want, const Answer& got, Reset reset) {
  if (want.contains("error")) {
    ASSERT_FALSE(got);
    constexpr const char* names[] = {"cost_negative", "cost_over_burst", "duplicate_bucket"};
    ASSERT_EQ(want["error"], names[static_cast<std::size_t>(got.error())]);
    return;
  }
  ASSERT_TRUE(got);
  if (want.empty()) return;
  ASSERT_EQ(got->decision.admitted, want["allowed"]);
  ASSERT_EQ(got->unlimited, want.value("unlimited", false));
  if (got->unlimited) return;
  ASSERT_EQ(got->decision.remaining, want["remaining"].get<std::uint64_t>());
  ASSERT_EQ(got->retry_in, integer(want["retry_in_ns"]));
  ASSERT_EQ(got->reset_in, integer(want["reset_in_ns"]));
  if (!want.contains("r")) return;
  const Decision& decision = got->decision;
  ASSERT_EQ(decision.remaining, want["r"].get<std::uint64_t>());
  const char* t = "t";
  if (decision.admitted && reset == Reset::next) t = "t_next";
  if (decision.admitted && reset == Reset::full) t = "t_full";
  ASSERT_EQ(decision.reset, want[t].is_null() ? 0 : want[t].get<std::uint64_t>());
  if (want["retry_after"].is_null()) {
    ASSERT_EQ(decision.wait, 0);
  } else {
    ASSERT_EQ(decision.retry_after(), want["retry_after"].get<std::uint64_t>());
  }
}

TEST(Boulder, Vectors) {
  std::ifstream in(source_tree() / "tests/vectors/boulder_token_bucket.json");
  ASSERT_TRUE(in);
  std::size_t steps = 0;
  const json file = json::parse(in);
  for (const Reset reset : {Reset::pace, Reset::next, Reset::full}) {
    for (const json& sequence : file["sequences"]) {
      Buckets buckets(sequence["limits"], reset);
      for (const json& step : sequence["steps"]) {
        SCOPED_TRACE(sequence["id"].get<std::string>() + ": " + step.dump());
        expect(step["expect"], buckets.apply(step), reset);
        if (HasFatalFailure()) return;
        ++steps;
      }
    }
  }
  EXPECT_EQ(steps, 3U * 473);
}

TEST(Boulder, RefusesInvalidLimits) {
  EXPECT_FALSE(BoulderLimit::make(0, 1, 1));
  EXPECT_FALSE(BoulderLimit::make(1, 0, 1));
  EXPECT_FALSE(BoulderLimit::make(1, 1, 0));
  EXPECT_FALSE(BoulderLimit::make(1, 1, -1));
  EXPECT_FALSE(BoulderLimit::make(1, 2'000'000'000, nanos_per_second)) << "half a nanosecond";
  EXPECT_FALSE(BoulderLimit::make(Quota::units_max + 1, 1, 1));
  EXPECT_FALSE(BoulderLimit::make(Quota::units_max, 1, Quota::window_max));
  EXPECT_TRUE(BoulderLimit::make(1, 1, 1));
}

// The linear law of any store decides as Boulder does.
RC_GTEST_PROP(Boulder, IsTheLinearLaw, ()) {
  const auto burst = *rc::gen::inRange<std::uint64_t>(1, 50);
  const auto limit = BoulderLimit::make(burst, *rc::gen::inRange<std::uint64_t>(1, 50),
                                        *rc::gen::inRange<std::int64_t>(100, 1000))
                         .value();
  const auto law = std::get<LinearWhole>(make_law(limit.quota(), {}).value());
  std::optional<BoulderLimit::Tat> bucket;
  std::optional<LinearWhole::State> state;
  Instant now{*rc::gen::inRange<std::int64_t>(-1000, 1000)};
  for (int i = 0; i < 100; ++i) {
    now.ns += *rc::gen::inRange<std::int64_t>(0, 200);
    const auto cost = *rc::gen::inRange<std::uint64_t>(0, burst + 1);
    const auto signed_cost = static_cast<std::int64_t>(cost);
    if (*rc::gen::inRange(0, 5) == 0) {
      if (!state) continue;
      const BoulderAnswer answer = limit.refund(bucket, signed_cost, now).value();
      const auto step = law.refund(state, cost, now);
      if (step.changed) state = step.state;
      RC_ASSERT(answer.decision.remaining == step.decision.remaining);
      continue;
    }
    const BoulderCharge charge{&limit, "b", signed_cost, Kind::check_spend, &bucket};
    const BoulderAnswer answer = boulder_batch({&charge, 1}, now).value();
    const auto step = law.spend(state, cost, now);
    if (step.changed) state = step.state;
    RC_ASSERT(answer.decision == step.decision);
  }
}

}  // namespace
}  // namespace headgate::limit
