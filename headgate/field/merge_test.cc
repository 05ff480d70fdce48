#include "headgate/field/merge.h"

#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "headgate/base/testing/source_tree.h"
#include "headgate/field/ratelimit.h"
#include "headgate/field/sf/parse.h"

namespace headgate::field {
namespace {

using nlohmann::json;
using namespace std::string_view_literals;

Upstream upstream_of(std::vector<std::string_view> ratelimit,
                     std::vector<std::string_view> policy = {}) {
  return Upstream::read(ratelimit, policy, {});
}

// Merges as the doors do.
json merged(const json& upstream_lines, const json& own) {
  std::vector<std::string> texts;
  std::vector<std::string_view> lines[2];
  for (const json& line : upstream_lines) {
    if (line[0] == ratelimit_name) lines[0].push_back(line[1].get_ref<const std::string&>());
    if (line[0] == policy_name) lines[1].push_back(line[1].get_ref<const std::string&>());
  }
  const Upstream upstream = Upstream::read(lines[0], lines[1], {});
  std::array<char, 500> policy_room{};
  std::array<char, 500> limit_room{};
  Writer policy(policy_room);
  Writer limit(limit_room);
  for (const json& m : own) {
    std::string name = m.at("policy");
    std::optional<std::string> pk;
    if (m.contains("pk")) {
      const std::string text = ":" + m["pk"].get<std::string>() + ":";
      pk = std::get<sf::Bytes>(sf::parse_item(text)->value).bytes;
    }
    if (upstream.has(name, pk)) name = upstream.free_name(name, pk, "gw-", {}).value();
    EXPECT_TRUE(write_policy_member(policy, name, m.at("q"), "", m.at("w"), pk));
    EXPECT_TRUE(write_limit_member(limit, name, m.at("r"), m.at("t"), pk));
  }
  json out = json::array();
  for (const json& line : upstream_lines) {
    const bool drop = !own.empty() &&
                      ((line[0] == ratelimit_name && upstream.ratelimit() == Treatment::replace) ||
                       (line[0] == policy_name && upstream.policy() == Treatment::replace));
    if (!drop) out.push_back(line);
  }
  if (!policy.text().empty() && upstream.policy() != Treatment::keep) {
    out.push_back({policy_name, policy.text()});
  }
  if (!limit.text().empty() && upstream.ratelimit() != Treatment::keep) {
    out.push_back({ratelimit_name, limit.text()});
  }
  return out;
}

TEST(Merge, Vectors) {
  std::ifstream in(source_tree() / "tests/vectors/fields/merge.json");
  const json file = json::parse(in);
  int ran = 0;
  for (const json& vector : file.at("cases")) {
    SCOPED_TRACE(vector.at("id").get<std::string>() + " " + vector.at("note").get<std::string>());
    EXPECT_EQ(merged(vector.at("upstream"), vector.at("own")), vector.at("expect"));
    ++ran;
  }
  EXPECT_EQ(ran, 10);
}

TEST(Merge, TreatsEachFieldByItsForm) {
  struct {
    std::vector<std::string_view> ratelimit, policy;
    Treatment to_ratelimit, to_policy;
  } const cases[] = {
      {{}, {}, Treatment::add, Treatment::add},
      {{R"("a";r=1)", R"("b";r=1)"}, {}, Treatment::add, Treatment::add},
      {{R"("a";r=1)"}, {R"("a";q=x)"}, Treatment::add, Treatment::replace},
      {{R"("a")"}, {R"("a";q=1)"}, Treatment::replace, Treatment::add},
      // An empty line joined with another one would be a List that starts or ends with a comma.
      {{""}, {"  "}, Treatment::replace, Treatment::replace},
      {{R"("a";r=1)", ""}, {}, Treatment::replace, Treatment::add},
      // Forms of draft-07 and before: nothing can be added.
      {{}, {"100;w=60"}, Treatment::add, Treatment::keep},
      {{"limit=1, remaining=1, reset=1"}, {"garbage ("}, Treatment::keep, Treatment::keep},
      {{"foo, limit=1, remaining=1, reset=1;x"}, {}, Treatment::keep, Treatment::keep},
      {{"limit=1, remaining=1"}, {}, Treatment::replace, Treatment::add},
      {{"limit=(1), remaining=1, reset=1"}, {}, Treatment::replace, Treatment::add},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.ratelimit.empty() ? "" : c.ratelimit[0]);
    const Upstream upstream = upstream_of(c.ratelimit, c.policy);
    EXPECT_EQ(upstream.ratelimit(), c.to_ratelimit);
    EXPECT_EQ(upstream.policy(), c.to_policy);
  }
}

TEST(Merge, AnOlderFormIsSentIfUpstreamDidNotSendItsFields) {
  struct {
    std::vector<std::string_view> ratelimit, policy;
    OlderFields older;
    bool draft_07, draft_06, draft_03, x_ratelimit;
  } const cases[] = {
      {{}, {}, {}, true, true, true, true},
      {{R"("a";r=1)"}, {}, {}, false, false, true, true},
      {{}, {R"("a";q=1)"}, {}, false, false, true, true},
      {{"limit=1, remaining=1, reset=1"}, {}, {}, false, false, true, true},
      {{}, {"100;w=60"}, {}, false, false, true, true},
      // Malformed lines, which are replaced, do not prevent a form.
      {{"garbage ("}, {""}, {}, true, true, true, true},
      {{"garbage ("}, {R"("a";q=1)"}, {}, false, false, true, true},
      {{}, {}, {true, false}, true, false, false, true},
      {{}, {}, {false, true}, true, true, true, false},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.ratelimit.empty() ? "" : c.ratelimit[0]);
    const Upstream upstream = Upstream::read(c.ratelimit, c.policy, c.older);
    EXPECT_TRUE(upstream.leaves(Form::ratelimit));
    EXPECT_EQ(upstream.leaves(Form::draft_07), c.draft_07);
    EXPECT_EQ(upstream.leaves(Form::draft_06), c.draft_06);
    EXPECT_EQ(upstream.leaves(Form::draft_03), c.draft_03);
    EXPECT_EQ(upstream.leaves(Form::x_ratelimit), c.x_ratelimit);
  }
  EXPECT_FALSE(Upstream::unread({}).leaves(Form::draft_07));
  EXPECT_EQ(Upstream::unread({}).ratelimit(), Treatment::keep);
}

TEST(Merge, ANameClashesIfAReaderWouldConfuseTheMembers) {
  const Upstream upstream = upstream_of({R"("keyed";r=1;pk=:AQ==:, "keyed";r=1;pk=:Aw==:)"},
                                        {R"("plain";q=1, "both";q=1, "both";q=1;pk=:AQ==:)"});
  EXPECT_TRUE(upstream.has("keyed", "\x01"sv));
  EXPECT_TRUE(upstream.has("keyed", "\x03"sv));
  EXPECT_FALSE(upstream.has("keyed", "\x02"sv));
  EXPECT_FALSE(upstream.has("keyed", "\x04"sv));
  EXPECT_TRUE(upstream.has("keyed", {}));
  EXPECT_TRUE(upstream.has("plain", {}));
  EXPECT_TRUE(upstream.has("plain", "\x02"sv));
  EXPECT_TRUE(upstream.has("both", "\x02"sv));
  EXPECT_FALSE(upstream.has("Plain", {}));
  EXPECT_FALSE(upstream.has("", {}));
}

TEST(Merge, APrefixIsRepeatedUntilTheNameIsFree) {
  const Upstream upstream = upstream_of({R"("a";r=1, "gw-a";r=1)"});
  const std::string_view own[] = {"gw-gw-a", "b"};
  EXPECT_EQ(upstream.free_name("a", {}, "gw-", {}), "gw-gw-a");
  EXPECT_EQ(upstream.free_name("a", {}, "gw-", own), "gw-gw-gw-a");
  std::string all = R"("a";r=1)";
  std::string name = "a";
  for (int i = 0; i < 8; ++i) {
    name.insert(0, "p");
    all += ", \"" + name + "\";r=1";
  }
  EXPECT_EQ(upstream_of({all}).free_name("a", {}, "p", {}), std::nullopt);
}

}  // namespace
}  // namespace headgate::field
