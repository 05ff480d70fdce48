#include "headgate/gate/decision_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "headgate/gate/decision_sampler.h"
#include "headgate/gate/gate.h"
#include "headgate/gate/table_options.h"
#include "headgate/gate/testing/policies.h"
#include "headgate/gate/testing/test_store.h"

namespace headgate::gate {
namespace {

using nlohmann::json;
using policy::DecisionLogSettings;
using policy::LogFormat;
using policy::LoggedDecisions;
using policy::PartitionKey;
using testing::HasSubstr;

constexpr std::int64_t moment = 1'774'742'400'007;  // 2026-03-29T00:00:00.007Z

class DecisionLineTest : public testing::Test {
 protected:
  void load(const std::string& policies) {
    const auto set = loaded("policies:\n" + policies);
    auto options = table_options(*set);
    options.memory = 1 << 20;
    store_.emplace(Completes::at_once, options);
    counts_ = std::vector<PolicyCounts>(set->policies().size() + 1);
    gate_ = std::make_unique<Gate>(set, store_->store(), store_->table().secret(), counts_);
  }

  void admit() {
    policy::Request request;
    request.path = scene.path;
    request.method = scene.method;
    request.host = scene.host;
    request.peer = policy::Address::parse("192.0.2.7");
    request.headers = &headers;
    gate_->admit(request, std::nullopt, DryRun::no, context);
  }

  std::string line() { return std::string(write_line(log, scene, context, room_)); }
  json parsed() { return json::parse(line()); }

  FakeHeaders headers;
  DecisionLogSettings log{.file = "-"};
  DecisionScene scene{"nginx", moment, "GET", "api.example", "/v1/a", "192.0.2.7"};
  DecisionContext context;

 private:
  std::optional<TestStore> store_;
  std::vector<PolicyCounts> counts_;
  std::unique_ptr<Gate> gate_;
  DecisionLineRoom room_;
};

constexpr const char* three = R"(
  - {name: burst, quota: 1, window: 1h}
  - {name: daily, quota: 9, window: 1d, key: ["header:x-key"]}
  - {name: trial, quota: 1, window: 1h, mode: shadow}
)";

TEST_F(DecisionLineTest, HasThePoliciesThatDenied) {
  load(three);
  admit();
  EXPECT_FALSE(has_line(log, context));
  log.which = LoggedDecisions::all;
  EXPECT_TRUE(has_line(log, context));
  log.which = LoggedDecisions::denied;
  admit();
  ASSERT_TRUE(has_line(log, context));
  const json denied = parsed();
  EXPECT_EQ(denied.at("time"), "2026-03-29T00:00:00.007Z");
  EXPECT_EQ(denied.at("door"), "nginx");
  EXPECT_EQ(denied.at("outcome"), "denied");
  EXPECT_EQ(denied.at("remaining"), 0);
  EXPECT_EQ(denied.at("wait"), 3600);
  EXPECT_EQ(denied.at("method"), "GET");
  EXPECT_EQ(denied.at("host"), "api.example");
  EXPECT_EQ(denied.at("path"), "/v1/a");
  EXPECT_FALSE(denied.contains("client"));
  ASSERT_EQ(denied.at("policies").size(), 2u);
  const json& burst = denied.at("policies")[0];
  EXPECT_EQ(burst.at("name"), "burst");
  EXPECT_EQ(burst.at("cost"), 1);
  EXPECT_EQ(burst.at("decision"), "denied");
  EXPECT_THAT(burst.at("key").get<std::string>(), testing::MatchesRegex(":[A-Za-z0-9+/]+==:"));
  EXPECT_EQ(denied.at("policies")[1].at("decision"), "shadow-denied");
}

TEST_F(DecisionLineTest, ShowsKeysAsTheSettingsSay) {
  load(three);
  headers.lines["x-key"] = "a";
  admit();
  log.which = LoggedDecisions::all;
  log.key = PartitionKey::plain;
  const json plain = parsed();
  EXPECT_EQ(plain.at("client"), "192.0.2.7");
  EXPECT_EQ(plain.at("policies")[1].at("key"), "a");
  EXPECT_EQ(plain.at("policies")[1].at("decision"), "admitted");
  log.key = PartitionKey::omit;
  EXPECT_THAT(line(), testing::Not(HasSubstr("\"key\"")));
  EXPECT_THAT(line(), testing::Not(HasSubstr("192.0.2.7")));
}

TEST_F(DecisionLineTest, IsTextIfWanted) {
  load(three);
  admit();
  admit();
  log.format = LogFormat::text;
  log.key = PartitionKey::plain;
  scene.path = "/a b\"";
  EXPECT_EQ(line(),
            "2026-03-29T00:00:00.007Z door=nginx outcome=denied remaining=0 wait=3600 method=GET "
            "host=api.example path=\"/a b\\\"\" client=192.0.2.7 policy=burst key=192.0.2.7 cost=1 "
            "decision=denied policy=trial key=192.0.2.7 cost=1 decision=shadow-denied\n");
}

TEST_F(DecisionLineTest, WaitIsNullIfWaitingNeverHelps) {
  load("  - {name: none, quota: 0, window: 1h}\n");
  admit();
  EXPECT_TRUE(parsed().at("wait").is_null());
  log.format = LogFormat::text;
  EXPECT_THAT(line(), HasSubstr(" wait=- "));
}

// Whatever clients send, a line is one line of ASCII, and of JSON.
TEST_F(DecisionLineTest, OddBytesAreEscaped) {
  load("  - {name: \"a\\\"b\", quota: 0, window: 1h, key: [\"header:x-key\"]}\n");
  std::string every;
  for (int byte = 0; byte < 256; ++byte) every += static_cast<char>(byte);
  headers.lines["x-key"] = "k" + every + "k";
  log.key = PartitionKey::plain;
  admit();
  scene.path = scene.host = scene.method = every;
  for (const LogFormat format : {LogFormat::json, LogFormat::text}) {
    log.format = format;
    const std::string text = line();
    EXPECT_EQ(std::count_if(text.begin(), text.end(), [](char c) { return c < 0x20 || c > 0x7e; }),
              1);
    EXPECT_EQ(text.back(), '\n');
    EXPECT_LE(text.size(), decision_line_max);
    if (format == LogFormat::text) continue;
    EXPECT_EQ(json::parse(text).at("policies")[0].at("name"), "a\"b");
  }
}

TEST_F(DecisionLineTest, HasABoundedLength) {
  std::string policies;
  for (int i = 0; i < 128; ++i) {
    policies += "  - {name: policy-" + std::to_string(i) + ", quota: " + (i < 100 ? "9" : "0") +
                ", window: 1h, key: [\"header:x-key\"]}\n";
  }
  load(policies);
  headers.lines["x-key"] = std::string(4000, '\x01');
  const std::string path(4000, '/');
  scene.path = path;
  admit();
  log.which = LoggedDecisions::all;
  for (const PartitionKey key : {PartitionKey::plain, PartitionKey::opaque, PartitionKey::omit}) {
    log.key = key;
    const json parts = parsed();
    EXPECT_LE(line().size(), decision_line_max);
    EXPECT_GE(parts.at("policies").size(), 1u);
    EXPECT_EQ(parts.at("policies").size() + parts.at("more").get<std::size_t>(), 128u);
    EXPECT_EQ(parts.at("policies")[0].at("name"), "policy-100") << "those that denied come first";
    EXPECT_EQ(parts.at("path").get<std::string>().size(), 512u);
  }
}

TEST(DecisionLine, OfALoneDecision) {
  DecisionLogSettings log{.file = "-", .key = PartitionKey::plain};
  const LoneDecision denied{.policy = "throttle", .partition = "user 1", .cost = 3, .wait = 7};
  EXPECT_TRUE(has_line(log, denied));
  EXPECT_FALSE(has_line(log, LoneDecision{.admitted = true}));
  DecisionLineRoom room;
  const DecisionScene scene{.door = "resp", .unix_ms = moment};
  EXPECT_EQ(
      write_line(log, scene, denied, room),
      R"({"time":"2026-03-29T00:00:00.007Z","door":"resp","outcome":"denied","remaining":0,)"
      R"("wait":7,"policies":[{"name":"throttle","key":"user 1","cost":3,"decision":"denied"}]})"
      "\n");
}

TEST(WholeLines, AreAsManyAsAPipeTakesAtOnce) {
  EXPECT_EQ(whole_lines("a\nb\n"), 4u);
  const std::string line(1000, 'x');
  std::string many;
  for (int i = 0; i < 9; ++i) many += line + '\n';
  EXPECT_EQ(whole_lines(many), 4 * 1001u);
  EXPECT_EQ(whole_lines(std::string(9000, 'x')), decision_line_max);
}

// Of a hundred thousand, 10 % with a deviation of 95: 9400 is more than six away.
TEST(DecisionSampler, ChoosesAShareWhateverThePattern) {
  DecisionSampler sampler(HashSecret{1, 2});
  int chosen = 0;
  std::array<int, 10> of_pattern{};  // every tenth request is one of an attacker
  for (int i = 0; i < 100'000; ++i) {
    if (!sampler.choose(10)) continue;
    ++chosen;
    ++of_pattern[static_cast<std::size_t>(i % 10)];
  }
  EXPECT_NEAR(chosen, 10'000, 600);
  for (const int count : of_pattern) EXPECT_NEAR(count, 1000, 200);
  DecisionSampler other(HashSecret{3, 4});
  DecisionSampler same(HashSecret{1, 2});
  DecisionSampler first(HashSecret{1, 2});
  int differ = 0;
  for (int i = 0; i < 1000; ++i) {
    const bool one = first.choose(50);
    EXPECT_EQ(one, same.choose(50));
    differ += one != other.choose(50) ? 1 : 0;
  }
  EXPECT_GT(differ, 300);
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(same.choose(100));
}

}  // namespace
}  // namespace headgate::gate
