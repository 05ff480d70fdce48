// Every policy that applies is found, whatever the request; and of thousands, only few others are.

#include "headgate/policy/match/rule_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "headgate/base/testing/allocations.h"

namespace headgate::policy {
namespace {

using testing::ElementsAre;

class NoHeaders final : public Headers {
 public:
  [[nodiscard]] std::optional<std::string_view> line(std::string_view,
                                                     std::size_t) const noexcept override {
    return std::nullopt;
  }
};

// A request, with what it takes to match it.
struct Asked {
  Asked(std::string_view method, std::string_view host, std::string_view path)
      : raw{method, host, path, "", std::nullopt, &no_headers, 0} {}

  NoHeaders no_headers;
  Request raw;
  ClientAddress settings;
  std::string host_buffer, path_buffer;
  FoldedHeaders headers;
  LazyRequest lazy{raw, settings, host_buffer, path_buffer, headers};
  FoundRules found;
};

Condition condition(const std::vector<std::string>& paths, const std::string& host = "",
                    std::vector<std::string> methods = {}) {
  Condition made;
  for (const std::string& path : paths) made.paths.emplace_back(path);
  if (!host.empty()) made.host.emplace(host);
  made.methods = std::move(methods);
  return made;
}

TEST(RuleIndex, FindsByHostMethodAndTheBeginOfThePath) {
  RuleIndex index;
  index.add(0, {});
  index.add(1, {condition({"/v1/*"})});
  index.add(2, {condition({"/v1/users"})});
  index.add(3, {condition({"/v2/*"})});
  index.add(4, {condition({}, "api.example")});
  index.add(5, {condition({"/v1/*"}, "other.example")});
  index.add(6, {condition({"/v1/*"}, "", {"PUT"}), condition({"/v3"})});
  index.add(7, {condition({"*.png"})});
  Asked get("GET", "api.example", "/V1//users/5");
  EXPECT_THAT(index.find(get.lazy, get.found), ElementsAre(0, 1, 2, 4, 7));
  Asked put("PUT", "other.example", "/v1");
  EXPECT_THAT(index.find(put.lazy, put.found), ElementsAre(0, 1, 5, 6, 7));
  Asked none("GET", "x", "/");
  EXPECT_THAT(index.find(none.lazy, none.found), ElementsAre(0, 7));
  EXPECT_EQ(index.most(), 2u + 4 + 1 + 1) << "of all groups of conditions";
}

TEST(RuleIndex, MostCountsAllReadingsOfAPath) {
  RuleIndex index;
  std::uint32_t next = 0;
  const auto add = [&](const std::vector<std::string>& paths, int times) {
    for (; times > 0; --times) index.add(next++, {condition(paths)});
  };
  add({"/a/*"}, 5);
  add({"/b/*"}, 7);
  EXPECT_EQ(index.most(), 12u) << "//b/a/x is /b/a/x and /a/x";
  Asked both("GET", "x", "//b/a/x");
  EXPECT_EQ(index.find(both.lazy, both.found).size(), 12u);
  add({"/a/b/c", "/a/b", "/b/x", "/c", "/d", "/e"}, 1);
  EXPECT_EQ(index.most(), 13u) << "each policy once";
  RuleIndex wide;
  for (std::uint32_t i = 0; i < 200; ++i) {
    wide.add(2 * i, {condition({"/v1/" + std::to_string(i)})});
    wide.add(2 * i + 1, {condition({"/v1/" + std::to_string(i) + "/*"})});
  }
  wide.add(400, {condition({"/v1/*"})});
  wide.add(401, {condition({"/v1/7/deeper/*"})});
  EXPECT_EQ(wide.most(), 36u * 2 + 1 + 1)
      << "as many readings as there may be, and their begin once";
}

TEST(RuleIndex, AMalformedHostHasThePoliciesOfAllHosts) {
  RuleIndex index;
  index.add(0, {condition({}, "api.example")});
  index.add(1, {condition({"/v1/*"}, "other.example"), condition({}, "third.example", {"PUT"})});
  index.add(2, {condition({}, "", {"PUT"})});
  Asked request("GET", "u0@api.example", "/");
  EXPECT_THAT(index.find(request.lazy, request.found), ElementsAre(0, 1));
}

TEST(RuleIndex, ALongPathTakesNoMoreStepsThanThePoliciesPaths) {
  RuleIndex index;
  index.add(0, {condition({"/a/b/c"})});
  std::string path;
  for (int i = 0; i < 100'000; ++i) path += "/a";
  Asked request("GET", "x", path);
  EXPECT_TRUE(index.find(request.lazy, request.found).empty());
  EXPECT_LE(request.found.text.size(), 7u);
}

TEST(RuleIndex, FindsWithoutAllocating) {
  RuleIndex index;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    index.add(i, {condition({"/routes/of/many/kinds/" + std::to_string(i) + "/*"})});
  }
  Asked request("GET", "api.example", "/routes/of/many/kinds/999/deeper");
  EXPECT_THAT(index.find(request.lazy, request.found), ElementsAre(999));
  const std::size_t before = allocations();
  const std::size_t found = index.find(request.lazy, request.found).size();
  EXPECT_EQ(allocations(), before);
  EXPECT_EQ(found, 1u);
}

// Texts of few letters, so that many of them match.
rc::Gen<std::string> texts(const std::vector<std::string>& parts, int most) {
  return rc::gen::map(rc::gen::resize(most, rc::gen::container<std::vector<std::string>>(
                                                rc::gen::elementOf(parts))),
                      [](const std::vector<std::string>& chosen) {
                        std::string text = "/";
                        for (const std::string& part : chosen) text += part;
                        return text;
                      });
}

RC_GTEST_PROP(RuleIndexProperty, FindsEveryRuleThatApplies, ()) {
  const std::vector<std::string> raw{"/",  "a", "b",  "A",  "%61", "%2f",
                                     "..", ".", ";x", "\\", "%2e"};
  std::vector<std::string> pattern = raw;
  pattern.insert(pattern.end(), {"*", "/*", "*"});
  const auto hosts = rc::gen::elementOf(std::vector<std::string>{"", "h", "g", "*h", "u@h"});
  const auto methods =
      rc::gen::elementOf(std::vector<std::vector<std::string>>{{}, {"GET"}, {"PUT", "GET"}});
  RuleIndex index;
  std::vector<std::vector<Condition>> rules(*rc::gen::inRange(1, 20));
  for (std::uint32_t i = 0; i < rules.size(); ++i) {
    for (int n = *rc::gen::inRange(0, 3); n > 0; --n) {
      Condition& one = rules[i].emplace_back(condition({}, *hosts, *methods));
      for (int m = *rc::gen::inRange(0, 3); m > 0; --m) one.paths.emplace_back(*texts(pattern, 6));
      for (int m = *rc::gen::inRange(0, 2); m > 0; --m) {
        one.exact_paths.emplace_back(*texts(pattern, 6));
      }
    }
    index.add(i, rules[i]);
  }
  const std::string path = *texts(raw, 10), host = *hosts;
  const std::string method = *rc::gen::elementOf(std::vector<std::string>{"GET", "PUT"});
  Asked request(method, host, path);
  const auto found = index.find(request.lazy, request.found);
  RC_ASSERT(std::is_sorted(found.begin(), found.end()));
  for (std::uint32_t i = 0; i < rules.size(); ++i) {
    const bool applies = rules[i].empty() || any_holds(rules[i], request.lazy, Effect::limits);
    RC_ASSERT(!applies || std::binary_search(found.begin(), found.end(), i));
  }
}

}  // namespace
}  // namespace headgate::policy
