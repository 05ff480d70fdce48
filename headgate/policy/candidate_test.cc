// Policies with a candidate: what is loaded, and what requests and names match.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/policy/file/load.h"
#include "headgate/policy/live/override.h"
#include "headgate/policy/policy_change.h"
#include "headgate/policy/policy_set.h"

namespace headgate::policy {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr Nanos minute = 60 * nanos_per_second;
// By the share from which on the candidate of "burst" is in force for them.
constexpr std::string_view early = "10.0.0.3";  // 7%
constexpr std::string_view late = "10.0.0.1";   // 82%

std::shared_ptr<const PolicySet> load(const std::string& policies) {
  const Loaded loaded = load_text("version: 1\npolicies:\n" + policies, "test.yaml");
  EXPECT_TRUE(loaded) << loaded.error().front().text();
  return loaded ? *loaded : nullptr;
}

class NoHeaders final : public Headers {
 public:
  std::optional<std::string_view> line(std::string_view, std::size_t) const noexcept override {
    return std::nullopt;
  }
};

// The matches of a request as "NAME QUOTA", those that are not enforced in brackets.
std::vector<std::string> matched(const PolicySet& policies, std::string_view address,
                                 std::string_view path = "/") {
  const NoHeaders headers;
  Request request;
  request.method = "GET";
  request.path = path;
  request.peer = Address::parse(address);
  request.headers = &headers;
  Scratch scratch;
  std::vector<std::string> all;
  for (const Match& match : policies.match(request, scratch)) {
    const std::string text = match.policy->name + ' ' + std::to_string(match.grant->quota.units);
    all.push_back(match.enforced() ? text : '[' + text + ']');
  }
  return all;
}

Match named(const PolicySet& policies, std::string_view name, std::string_view key,
            std::string& text) {
  return policies.named(name, key, 1, text).value();
}

TEST(Candidate, IsThePolicyWithOtherNumbers) {
  const auto set = load(R"(
  - {name: before, quota: 1, window: 1s}
  - name: burst
    quota: 100
    window: 1m
    match: {path: /a}
    unless: [other]
    cost: 2
    denied: {penalty: 5s}
    refund-on: 5xx
    status: 503
    candidate: {quota: 50, share: 25%}
  - {name: other, quota: 3, window: 1s, match: {path: /a/b}}
)");
  EXPECT_THAT(set->names(), ElementsAre("before", "burst", "burst (candidate)", "other"));
  EXPECT_TRUE(set->has_candidates());
  const Policy& live = set->policies()[1];
  const Policy& candidate = set->policies()[2];
  EXPECT_TRUE(live.has_candidate);
  EXPECT_FALSE(live.is_candidate());
  EXPECT_EQ(live.twin(), 2u);
  EXPECT_EQ(live.candidate_share, 25u);
  EXPECT_FALSE(candidate.has_candidate);
  EXPECT_TRUE(candidate.is_candidate());
  EXPECT_EQ(candidate.index, 2u);
  EXPECT_EQ(candidate.twin(), 1u);
  EXPECT_EQ(candidate.candidate_share, 25u);
  EXPECT_EQ(candidate.title(), "burst");
  EXPECT_EQ(live.title(), "burst");
  EXPECT_EQ(candidate.grants[0].quota, (limit::Quota{50, minute})) << "the policy's window";
  EXPECT_EQ(candidate.terms.penalty, 5 * nanos_per_second);
  EXPECT_EQ(candidate.status, 503u);
  EXPECT_EQ(candidate.refund_on, live.refund_on);
  EXPECT_EQ(candidate.match_text, live.match_text);
  EXPECT_THAT(matched(*set, early, "/a"),
              ElementsAre("before 1", "[burst 100]", "burst (candidate) 50"));
  EXPECT_THAT(matched(*set, late, "/a"),
              ElementsAre("before 1", "burst 100", "[burst (candidate) 50]"));
  EXPECT_THAT(matched(*set, early, "/a/b"), ElementsAre("before 1", "other 3"));
  EXPECT_FALSE(load("  - {name: a, quota: 1, window: 1s}\n")->has_candidates());
}

TEST(Candidate, TakesEverySpellingOfItsNumbers) {
  const auto of = [](const std::string& rest) {
    const auto set = load("  - {name: a, " + rest + "}\n");
    return set->policies()[1].grants[0].quota;
  };
  EXPECT_EQ(of("quota: 5, window: 1m, candidate: {window: 30s}"), (limit::Quota{5, minute / 2}));
  EXPECT_EQ(of("quota: 5, window: 1m, candidate: {rate: 7/s}"),
            (limit::Quota{7, nanos_per_second}));
  EXPECT_EQ(of("rate: 5/s, candidate: {burst: 60, count: 1, period: 1s}").units, 60u);
  EXPECT_EQ(of("quota: 5, algorithm: concurrency, candidate: {quota: 9, share: 50%}"),
            (limit::Quota{9, 0}));
  EXPECT_EQ(of("rate: 5/day, time-zone: UTC, candidate: {quota: 9}").units, 9u);
  EXPECT_EQ(of("quota: 5, window: 1m, mode: shadow, candidate: {quota: 9, share: 0%}").units, 9u);
}

TEST(Candidate, HasTheOverridesInItsOwnWindow) {
  const auto set = load(R"(
  - name: burst
    quota: 100
    window: 1m
    overrides:
      - {ids: [10.0.0.8], quota: 200}
      - {ids: [10.0.0.9], quota: unlimited}
      - {ids: [10.1.0.0/16], rate: 7/s}
    candidate: {rate: 10/second}
)");
  const auto quota = [&](std::string_view name, std::string_view key) {
    std::string text;
    return named(*set, name, key, text).grant->quota;
  };
  EXPECT_EQ(quota("burst", "10.0.0.8"), (limit::Quota{200, minute}));
  EXPECT_EQ(quota("burst (candidate)", "10.0.0.8"), (limit::Quota{200, nanos_per_second}));
  EXPECT_EQ(quota("burst (candidate)", "10.1.2.3"), (limit::Quota{7, nanos_per_second}));
  EXPECT_THAT(matched(*set, "10.0.0.9"), IsEmpty());
  EXPECT_THAT(matched(*set, "10.1.2.3"), ElementsAre("burst 7", "[burst (candidate) 7]"));
}

TEST(Candidate, OfAnOverrideOfAPathEachComparesWithItsOwnQuota) {
  const auto set = load(R"(
  - name: pages
    quota: 10
    window: 1h
    key: [path]
    overrides: [{ids: [/a], quota: 50}]
    candidate: {quota: 100}
)");
  EXPECT_THAT(matched(*set, late, "/a"), ElementsAre("pages 50", "[pages (candidate) 50]"));
  EXPECT_THAT(matched(*set, late, "/A/"), ElementsAre("pages 10", "[pages (candidate) 50]"))
      << "what gives more is for one spelling alone, what gives less is for all";
}

TEST(Candidate, ANameIsAnsweredByTheNumbersInForce) {
  const auto set =
      load("  - {name: burst, quota: 100, window: 1m, candidate: {quota: 50, share: 50%}}\n");
  std::string text;
  std::string other;
  const Match in = named(*set, "burst", early, text);
  EXPECT_EQ(in.policy->index, 1u);
  EXPECT_TRUE(in.enforced());
  EXPECT_EQ(in.partition, early);
  const auto beside_in = set->beside("burst", early, 3, other);
  ASSERT_TRUE(beside_in);
  EXPECT_EQ(beside_in->policy->index, 0u);
  EXPECT_FALSE(beside_in->enforced());
  EXPECT_EQ(beside_in->cost, 3u);
  EXPECT_NE(beside_in->key, in.key);

  EXPECT_EQ(named(*set, "burst", late, text).policy->index, 0u);
  EXPECT_EQ(set->beside("burst", late, 1, other)->policy->index, 1u);
  const Match own = named(*set, "burst (candidate)", late, text);
  EXPECT_EQ(own.policy->index, 1u);
  EXPECT_FALSE(own.enforced());
  EXPECT_TRUE(named(*set, "burst (candidate)", early, text).enforced());
  EXPECT_FALSE(set->beside("burst (candidate)", early, 1, other)) << "it stands for itself";
}

TEST(Candidate, TheShareGrowsByKeys) {
  const auto in_force = [](const std::string& share, std::string_view address) {
    const auto set =
        load("  - {name: burst, quota: 100, window: 1m, candidate: {quota: 50, share: " + share +
             "}}\n");
    const auto all = matched(*set, address);
    return all == std::vector<std::string>{"[burst 100]", "burst (candidate) 50"};
  };
  EXPECT_FALSE(in_force("0%", early));
  EXPECT_FALSE(in_force("6%", early));
  EXPECT_TRUE(in_force("7%", early));
  EXPECT_TRUE(in_force("81%", early));
  EXPECT_FALSE(in_force("81%", late));
  EXPECT_TRUE(in_force("100%", late));
}

TEST(Candidate, TheShareOfAKeyIsThatOfItsPartitionUnderWhateverWindow) {
  const auto in_force = [](const std::string& overrides) {
    const auto set = load(
        "  - {name: burst, quota: 2, window: 1m, key: path, candidate: {quota: 7, share: 50%}, "
        "overrides: [" +
        overrides + "]}\n");
    std::string all;
    for (int i = 0; i < 20; ++i) {
      std::string text;
      const std::string path = "/a" + std::to_string(i);
      all += std::to_string(named(*set, "burst", path, text).grant->quota.units);
      for (const std::string& match : matched(*set, "10.0.0.1", path)) {
        if (match.front() != '[') all += match.back();
      }
    }
    return all;
  };
  std::string ids;
  for (int i = 0; i < 20; ++i) ids += (i == 0 ? "/A" : ", /A") + std::to_string(i);
  EXPECT_EQ(in_force("{ids: [" + ids + "], quota: 90, window: 1h}"), in_force(""));
}

TEST(Candidate, ALiveOverrideIsForBoth) {
  const auto set =
      load("  - {name: burst, quota: 100, window: 1m, candidate: {rate: 5/s, share: 50%}}\n");
  const LiveOverride overrides[] = {{"burst", std::string(early), 7, {}},
                                    {"burst", std::string(late), std::nullopt, {}},
                                    {"burst (candidate)", "10.0.0.2", 8, {}}};
  const Overridden made = set->with(overrides);
  EXPECT_THAT(made.faults,
              ElementsAre("", "",
                          "policy 'burst (candidate)' is a candidate; expected policy 'burst', "
                          "whose overrides are those of both"));
  EXPECT_THAT(matched(*made.policies, early), ElementsAre("[burst 7]", "burst (candidate) 7"));
  EXPECT_THAT(matched(*made.policies, late), IsEmpty());
  std::string text;
  EXPECT_EQ(named(*made.policies, "burst", early, text).grant->quota,
            (limit::Quota{7, nanos_per_second}));
}

TEST(Candidate, AloneItIsInForce) {
  const auto set =
      load("  - {name: burst, quota: 100, window: 1m, candidate: {quota: 50, share: 50%}}\n");
  for (const std::string_view address : {early, late}) {
    EXPECT_THAT(matched(*set->only(0), address), ElementsAre("burst 100"));
    EXPECT_THAT(matched(*set->only(1), address), ElementsAre("burst (candidate) 50"));
  }
  EXPECT_THAT(matched(**set->with(1, {.quota = 60}), early),
              ElementsAre("[burst 100]", "burst (candidate) 60"));
}

TEST(Candidate, AppliesWithItsPolicyOrNotAtAll) {
  std::string yaml;
  for (int i = 0; i < 127; ++i) {
    yaml += "  - {name: p" + std::to_string(i) + ", quota: 9, window: 1s, match: {path: /}}\n";
  }
  const std::string last =
      "quota: 9, window: 1s, match: {path: /}, candidate: {quota: 1, share: 100%}}\n";
  EXPECT_EQ(matched(*load(yaml + "  - {name: last, " + last), early).size(), 0u) << "refused";
  EXPECT_EQ(matched(*load(yaml + "  - {name: last, mode: shadow, quota: 9, window: 1s, "
                                 "match: {path: /}, candidate: {quota: 1}}\n"),
                    early)
                .size(),
            127u);
  const std::string shorter = yaml.substr(yaml.find('\n') + 1);
  EXPECT_EQ(matched(*load(shorter + "  - {name: last, " + last), early).size(), 128u);
}

TEST(Candidate, WarnsOfACostAboveItsQuota) {
  const auto set = load("  - {name: a, quota: 9, window: 1s, cost: 5, candidate: {quota: 4}}\n");
  ASSERT_EQ(set->warnings().size(), 1u);
  EXPECT_EQ(set->warnings()[0].text(),
            "test.yaml:3:65: quota 4 is below the cost 5, so the candidate denies every request; "
            "expected at least the cost, or 0 to say so");
}

}  // namespace
}  // namespace headgate::policy
