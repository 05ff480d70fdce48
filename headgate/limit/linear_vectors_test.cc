// The reference vectors, every field of every step, through both widths of the law.

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "headgate/limit/law.h"

namespace headgate::limit {
namespace {

using nlohmann::json;

// Numbers above 2^63-1 are decimal strings in the vectors.
i128 integer(const json& value) {
  if (!value.is_string()) return value.get<std::int64_t>();
  i128 n = 0;
  for (const char c : value.get<std::string>()) n = n * 10 + (c - '0');
  return n;
}

std::optional<std::uint64_t> optional_units(const json& value) {
  if (value.is_null()) return std::nullopt;
  return static_cast<std::uint64_t>(integer(value));
}

json load(const std::string& name) {
  std::ifstream in(std::string(HEADGATE_SOURCE_DIR) + "/tests/vectors/" + name);
  return json::parse(in);
}

// One key's state under one law, stepped as a store would.
template <class L>
class Bucket {
 public:
  Decision apply(const L& law, const std::string& op, std::uint64_t cost, Instant at) {
    const auto step = op == "peek" ? law.peek(tat_, cost, at) : law.spend(tat_, cost, at);
    if (step.changed) tat_ = step.state;
    return step.decision;
  }

 private:
  std::optional<typename L::State> tat_;
};

template <>
class Bucket<Closed> {
 public:
  Decision apply(const Closed& law, const std::string&, std::uint64_t cost, Instant) {
    return law.decide(cost);
  }
};

Terms terms(const json& policy, Reset reset) {
  Terms t{.reset = reset};
  if (policy["mode"] == "strict") t.denied = Denied::spend;
  if (policy["mode"] == "penalty") {
    t.denied = Denied::penalty;
    t.penalty = integer(policy["penalty_ns"]);
  }
  return t;
}

template <class L>
void replay(const json& sequence, const L& law, Reset reset) {
  std::map<std::string, Bucket<L>> buckets;
  const i128 quota = integer(sequence["policy"]["quota"]);
  int number = 0;
  for (const json& step : sequence["steps"]) {
    SCOPED_TRACE(sequence["id"].get<std::string>() + " step " + std::to_string(number++));
    const std::string op = step.value("op", "spend");
    const auto cost = static_cast<std::uint64_t>(step.contains("cost") ? integer(step["cost"]) : 0);
    const Decision got = buckets[step["key"]].apply(law, op, cost, Instant{integer(step["at"])});
    const json& want = step["expect"];
    ASSERT_EQ(got.admitted, want["allowed"].get<bool>());
    ASSERT_EQ(got.remaining, *optional_units(want["r"]));
    if (got.admitted) {
      ASSERT_EQ(got.wait, 0);
    } else {
      ASSERT_EQ(got.wait == Decision::never, want["never"].get<bool>());
      if (!want["never"].get<bool>()) {
        ASSERT_EQ(got.wait, integer(want["wait_ns"]));
        ASSERT_EQ(got.retry_after(), *optional_units(want["retry_after"]));
      }
    }
    std::optional<std::uint64_t> t = optional_units(want["t"]);
    if (got.admitted && quota > 0 && reset == Reset::next)
      t = optional_units(want["t_next"]).value_or(0);
    if (got.admitted && quota > 0 && reset == Reset::full) t = optional_units(want["t_full"]);
    ASSERT_EQ(got.reset, t.value_or(Decision::no_reset));
  }
}

void replay_file(const std::string& name) {
  int narrow = 0;
  int wide = 0;
  const json file = load(name);
  for (const json& sequence : file["sequences"]) {
    const json& policy = sequence["policy"];
    const Quota quota{static_cast<std::uint64_t>(integer(policy["quota"])),
                      integer(policy["window_ns"])};
    for (const Reset reset : {Reset::pace, Reset::next, Reset::full}) {
      const Terms t = terms(policy, reset);
      if (quota.units == 0) replay(sequence, Closed{}, reset);
      if (const auto law = LinearWhole::make(quota, t)) ++narrow, replay(sequence, *law, reset);
      if (const auto law = LinearExact::make(quota, t)) ++wide, replay(sequence, *law, reset);
      ASSERT_TRUE(make_law(quota, t).has_value()) << sequence["id"];
    }
  }
  EXPECT_GE(narrow, 100);
  EXPECT_GE(wide, 200) << "the wide form serves every policy that the narrow one does";
}

TEST(LinearVectors, Lenient) { replay_file("linear_lenient.json"); }
TEST(LinearVectors, Strict) { replay_file("linear_strict.json"); }
TEST(LinearVectors, Penalty) { replay_file("linear_penalty.json"); }

}  // namespace
}  // namespace headgate::limit
