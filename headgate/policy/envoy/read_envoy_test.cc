// envoyproxy/ratelimit's configuration in a policy file: the limits that result, which descriptors
// they apply to, and the faults of bad configurations.
#include "headgate/policy/envoy/read_envoy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "headgate/policy/file/load.h"

namespace headgate::policy {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* configuration = R"(domain: shop
descriptors:
  - key: remote_address
    rate_limit: {unit: second, requests_per_unit: 10}
  - key: remote_address
    value: 10.0.0.9
    rate_limit: {unlimited: true}
  - key: remote_address
    value: 10.1.*
    rate_limit: {unit: Minute, requests_per_unit: 3, name: office}
  - key: remote_address
    value: 10.1.1.*
    rate_limit: {unit: minute, requests_per_unit: 4}
  - key: remote_address
    value: 10.2.*
    share_threshold: true
    rate_limit: {unit: minute, requests_per_unit: 5}
  - key: plan
    value: free
    descriptors:
      - key: path
        rate_limit: {unit: hour, requests_per_unit: 100}
        shadow_mode: true
      - key: path
        value: /search
        quota_mode: true
        rate_limit: {unit: day, requests_per_unit: 7, replaces: [{name: office}]}
  - key: plan
    value: none
    rate_limit: {unit: week, requests_per_unit: 0}
    metadata: {anything: [at, all]}
  - key: a_b
    value: c
    rate_limit: {unit: month, requests_per_unit: 1}
  - key: a
    value: b_c
    rate_limit: {unit: year, requests_per_unit: 2}
  - key: silent
)";

using Entries = std::vector<DescriptorEntry>;

class EnvoyTest : public testing::Test {
 protected:
  EnvoyTest() { std::filesystem::create_directory(path_); }
  ~EnvoyTest() override { std::filesystem::remove_all(path_); }

  void write(const std::string& name, const std::string& text) {
    std::ofstream(path_ + "/" + name) << text;
  }
  Loaded load(const std::string& envoy = "[shop.yaml]", const std::string& policies = "") {
    return load_text("version: 1\n" + policies + "envoy: " + envoy + "\n",
                     path_ + "/headgate.yaml");
  }
  std::shared_ptr<const PolicySet> good(const std::string& text = configuration,
                                        const std::string& envoy = "[shop.yaml]") {
    write("shop.yaml", text);
    const Loaded loaded = load(envoy);
    if (!loaded) throw std::runtime_error(loaded.error().front().text());
    return *loaded;
  }
  // The faults of a configuration, without its name.
  std::vector<std::string> faults(const std::string& text) {
    write("shop.yaml", text);
    const Loaded loaded = load();
    std::vector<std::string> texts;
    if (loaded) return texts;
    for (const Fault& fault : loaded.error()) {
      texts.push_back(fault.text().substr(path_.size() + std::string("/shop.yaml:").size()));
    }
    return texts;
  }

  const std::string path_ = testing::TempDir() + "envoy" + std::to_string(getpid());
};

// Returns the title of the limit that applies to a descriptor, or "" if there is none.
std::string limit_of(const PolicySet& set, const Entries& entries,
                     std::string_view domain = "shop") {
  Scratch scratch;
  const Descriptor descriptor{entries};
  const Match match = set.match(domain, {&descriptor, 1}, scratch)[0];
  return match.policy == nullptr ? "" : match.grant->envoy->title;
}

std::string key_of(const PolicySet& set, const Entries& entries) {
  Scratch scratch;
  const Descriptor descriptor{entries};
  return std::string(set.match("shop", {&descriptor, 1}, scratch)[0].key);
}

TEST_F(EnvoyTest, EachLevelIsExactThenPatternsInOrderThenTheKeyAlone) {
  const auto set = good();
  EXPECT_EQ(limit_of(*set, {{"remote_address", "10.9.9.9"}}), "remote_address");
  EXPECT_EQ(limit_of(*set, {{"remote_address", "10.0.0.9"}}), "remote_address=10.0.0.9");
  EXPECT_EQ(limit_of(*set, {{"remote_address", "10.1.1.1"}}), "office") << "the first pattern wins";
  EXPECT_EQ(limit_of(*set, {{"remote_address", "10.1."}}), "office") << "'*' is also nothing";
  EXPECT_EQ(limit_of(*set, {{"remote_address", ""}}), "remote_address");
  EXPECT_EQ(limit_of(*set, {{"plan", "free"}, {"path", "/"}}), "plan=free/path");
  EXPECT_EQ(limit_of(*set, {{"plan", "free"}, {"path", "/search"}}), "plan=free/path=/search");
}

TEST_F(EnvoyTest, ADescriptorEndsWhereItsLimitIs) {
  const auto set = good();
  EXPECT_EQ(limit_of(*set, {{"plan", "free"}}), "");
  EXPECT_EQ(limit_of(*set, {{"plan", "gold"}}), "");
  EXPECT_EQ(limit_of(*set, {{"plan", "free"}, {"path", "/"}, {"more", "x"}}), "");
  EXPECT_EQ(limit_of(*set, {{"remote_address", "10.9.9.9"}, {"path", "/"}}), "");
  EXPECT_EQ(limit_of(*set, {{"path", "/"}, {"plan", "free"}}), "") << "order counts";
  EXPECT_EQ(limit_of(*set, {{"silent", "x"}}), "");
  EXPECT_EQ(limit_of(*set, {{"", ""}}), "");
  EXPECT_EQ(limit_of(*set, {}), "");
  EXPECT_EQ(limit_of(*set, {{"remote_address", "10.9.9.9"}}, "other"), "");
}

// envoyproxy/ratelimit joins keys and values with '_', so that it cannot distinguish these.
TEST_F(EnvoyTest, KeysAndValuesAreNotJoined) {
  const auto set = good();
  EXPECT_EQ(limit_of(*set, {{"a_b", "c"}}), "a_b=c");
  EXPECT_EQ(limit_of(*set, {{"a", "b_c"}}), "a=b_c");
  EXPECT_NE(key_of(*set, {{"a_b", "c"}}), key_of(*set, {{"a", "b_c"}}));
}

TEST_F(EnvoyTest, EveryValueCountsForItselfUnlessItsPatternIsShared) {
  const auto set = good();
  EXPECT_NE(key_of(*set, {{"remote_address", "10.1.0.1"}}),
            key_of(*set, {{"remote_address", "10.1.0.2"}}));
  EXPECT_EQ(key_of(*set, {{"remote_address", "10.2.0.1"}}),
            key_of(*set, {{"remote_address", "10.2.0.2"}}));
}

TEST_F(EnvoyTest, LimitsAreThoseOfEnvoysService) {
  const auto set = good();
  ASSERT_EQ(set->policies().size(), 1u);
  const Policy& policy = set->policies()[0];
  EXPECT_EQ(policy.name, "shop");
  EXPECT_TRUE(policy.terms.aligned);
  EXPECT_EQ(policy.terms.algorithm, limit::Algorithm::fixed_window);
  EXPECT_EQ(policy.terms.denied, limit::Denied::spend);

  constexpr std::uint64_t day = 86400;
  struct Known {
    std::string title;
    std::uint64_t units;
    std::uint64_t seconds;
  };
  const Known known[] = {{"remote_address", 10, 1},     {"office", 3, 60},
                         {"plan=free/path", 100, 3600}, {"plan=free/path=/search", 7, day},
                         {"plan=none", 0, 7 * day},     {"a_b=c", 1, 30 * day},
                         {"a=b_c", 2, 365 * day}};
  std::size_t found = 0;
  for (const Grant& grant : policy.grants) {
    if (grant.envoy == nullptr) continue;
    for (const Known& expected : known) {
      if (grant.envoy->title != expected.title) continue;
      ++found;
      EXPECT_EQ(grant.quota.units, expected.units) << expected.title;
      EXPECT_EQ(ceil_seconds(grant.quota.window), expected.seconds) << expected.title;
      EXPECT_EQ(grant.envoy->shadow, expected.title == "plan=free/path");
      EXPECT_EQ(grant.envoy->quota_mode, expected.title == "plan=free/path=/search");
    }
  }
  EXPECT_EQ(found, std::size(known));
}

TEST_F(EnvoyTest, AReplacedLimitIsNotUsed) {
  const auto set = good();
  Scratch scratch;
  const Entries office{{"remote_address", "10.1.0.1"}};
  const Entries search{{"plan", "free"}, {"path", "/search"}};
  const Descriptor both[] = {{office}, {search}};
  const auto matches = set->match("shop", both, scratch);
  EXPECT_EQ(matches[0].policy, nullptr);
  ASSERT_NE(matches[1].policy, nullptr);
  EXPECT_EQ(matches[1].grant->envoy->requests_per_unit, 7u);
  EXPECT_EQ(limit_of(*set, office), "office") << "alone it is";
}

TEST_F(EnvoyTest, ALimitThatCameWithTheRequestHasItsOwnKeys) {
  const auto set = good();
  EnvoyLimit limit;
  limit.unit = EnvoyUnit::second;
  limit.requests_per_unit = 99;
  const auto grant = envoy_grant(limit, set->policies()[0].terms);
  ASSERT_TRUE(grant);
  Scratch scratch;
  const Entries entries{{"remote_address", "10.9.9.9"}};
  const Entries unknown{{"nothing", "x"}};
  const Descriptor all[] = {{entries}, {entries, 1, &*grant}, {unknown, 1, &*grant}};
  const auto matches = set->match("shop", all, scratch);
  EXPECT_EQ(matches[1].grant->quota.units, 99u);
  EXPECT_NE(matches[0].key, matches[1].key);
  EXPECT_NE(matches[1].key, matches[2].key);
  EXPECT_NE(matches[2].policy, nullptr) << "a limit of its own needs none in the file";
  EXPECT_EQ(set->match("nowhere", all, scratch)[1].policy, nullptr) << "a domain it needs";
}

TEST_F(EnvoyTest, NamedTakesADescriptorAsText) {
  const auto set = good();
  std::string text;
  const auto match = set->named("shop", "plan=free,path=/a\\,b", 1, text);
  ASSERT_TRUE(match);
  EXPECT_EQ(match->grant->envoy->title, "plan=free/path");
  EXPECT_EQ(match->key, key_of(*set, {{"plan", "free"}, {"path", "/a,b"}}));
  EXPECT_EQ(match->partition, "plan=free,path=/a\\,b");
  EXPECT_TRUE(set->named("shop", "remote_address=10.0.0.9", 1, text)->grant->unlimited);
  EXPECT_TRUE(set->named("shop", "nothing", 1, text)->grant->unlimited);
  EXPECT_TRUE(set->named("shop", "", 1, text)->grant->unlimited);
}

RC_GTEST_FIXTURE_PROP(EnvoyTest, TheReadableFormIsTheSameBucket, ()) {
  static const auto set = good(
      "domain: shop\ndescriptors:\n"
      "- {key: a, rate_limit: {unit: day, requests_per_unit: 1}}\n");
  const auto value = *rc::gen::container<std::string>(rc::gen::element('a', '=', ',', '\\', '*'));
  std::string text;
  Scratch scratch;
  const Entries entries{{"a", value}};
  const Descriptor descriptor{entries};
  const Match match = set->match("shop", {&descriptor, 1}, scratch)[0];
  const auto again = set->named("shop", match.partition, 1, text);
  RC_ASSERT(again->key == match.key);
  RC_ASSERT(again->partition == match.partition);
}

RC_GTEST_PROP(EnvoyDescriptor, TextsOfDescriptorsReadBack, ()) {
  const auto part =
      rc::gen::container<std::string>(rc::gen::element('a', '=', ',', '\\', '_', '\0'));
  const auto parts = *rc::gen::container<std::vector<std::pair<std::string, std::string>>>(
      rc::gen::pair(part, part));
  RC_PRE(!parts.empty());
  Entries entries;
  for (const auto& [key, value] : parts) entries.push_back({key, value});
  std::string text;
  std::string buffer;
  append_readable(entries, text);
  const Entries again = split_descriptor(text, buffer);
  RC_ASSERT(again.size() == entries.size());
  for (std::size_t i = 0; i < again.size(); ++i) {
    RC_ASSERT(again[i].key == entries[i].key);
    RC_ASSERT(again[i].value == entries[i].value);
  }
}

TEST_F(EnvoyTest, TitlesFitAFieldAndDiffer) {
  const std::string longest(100, 'k');
  const auto set = good(
      "domain: shop\ndescriptors:\n"
      "- {key: a, value: x, rate_limit: {name: n, unit: day, requests_per_unit: 1}}\n"
      "- {key: a, value: y, rate_limit: {name: n, unit: day, requests_per_unit: 1}}\n"
      "- {key: n, rate_limit: {unit: day, requests_per_unit: 1}}\n"
      "- {key: n~2, rate_limit: {unit: day, requests_per_unit: 1}}\n"
      "- {key: \"\u00e9\", rate_limit: {unit: day, requests_per_unit: 1}}\n"
      "- {key: " +
      longest +
      "a, rate_limit: {unit: day, requests_per_unit: 1}}\n"
      "- {key: " +
      longest + "b, rate_limit: {unit: day, requests_per_unit: 1}}\n");
  std::set<std::string> titles;
  for (const Grant& grant : set->policies()[0].grants) {
    if (grant.envoy == nullptr) continue;
    EXPECT_TRUE(titles.insert(grant.envoy->title).second) << grant.envoy->title;
    EXPECT_LE(grant.envoy->title.size(), 64u);
    EXPECT_THAT(grant.envoy->title, testing::MatchesRegex("[ -~]+"));
  }
  EXPECT_EQ(titles.size(), 7u);
}

TEST_F(EnvoyTest, AnotherAlgorithmIsASettingOfThePolicyFile) {
  const auto linear = good(configuration, "[{file: shop.yaml, algorithm: linear}]");
  EXPECT_EQ(linear->policies()[0].terms.algorithm, limit::Algorithm::linear);
  EXPECT_EQ(linear->policies()[0].terms.denied, limit::Denied::free);
  const auto lenient = good(configuration, "{file: shop.yaml, denied: free}");
  EXPECT_EQ(lenient->policies()[0].terms.algorithm, limit::Algorithm::fixed_window);
  EXPECT_EQ(lenient->policies()[0].terms.denied, limit::Denied::free);
  EXPECT_TRUE(lenient->policies()[0].terms.aligned);
  const auto explicit_too = good(configuration, "[{file: shop.yaml, algorithm: fixed-window}]");
  EXPECT_EQ(explicit_too->policies()[0].terms.denied, limit::Denied::spend);
  EXPECT_FALSE(load("[{file: shop.yaml, algorithm: concurrency}]"));
  EXPECT_FALSE(load("[{algorithm: linear}]"));
  EXPECT_FALSE(load("[{file: shop.yaml, algoritm: linear}]"));
  EXPECT_FALSE(load("[]"));
  EXPECT_FALSE(load("[nowhere.yaml]"));
}

TEST_F(EnvoyTest, DomainsAndPoliciesInOneFile) {
  write("shop.yaml", configuration);
  write("other.yaml", "domain: other\n");
  const std::string policies = "policies: [{name: own, quota: 1, window: 1s}]\n";
  const Loaded loaded = load("[shop.yaml, other.yaml]", policies);
  ASSERT_TRUE(loaded);
  EXPECT_EQ((*loaded)->policies().size(), 3u);
  EXPECT_EQ(limit_of(**loaded, {{"remote_address", "1"}}, "own"), "") << "no domain";

  EXPECT_THAT(load("shop.yaml", "policies: [{name: shop, quota: 1, window: 1s}]\n").error()[0].what,
              HasSubstr("envoy brings a domain 'shop', and there is a policy of that name"));
  write("again.yaml", configuration);
  EXPECT_THAT(load("[shop.yaml, again.yaml]").error()[0].what,
              HasSubstr("duplicate domain 'shop'"));
}

TEST_F(EnvoyTest, EveryFaultHasItsPosition) {
  const auto one = [&](const std::string& descriptor) {
    return faults("domain: shop\ndescriptors:\n- " + descriptor + "\n");
  };
  EXPECT_THAT(faults("descriptors: []\n"),
              ElementsAre(HasSubstr("1:1: config file cannot have empty domain")));
  EXPECT_THAT(faults("domain: ''\n"),
              ElementsAre(HasSubstr("1:9: config file cannot have empty domain")));
  EXPECT_THAT(faults("domain: headgate\n"),
              ElementsAre(HasSubstr("1:9: domain 'headgate' is res")));
  EXPECT_THAT(faults("domain: " + std::string(65, 'd') + "\n"),
              ElementsAre(HasSubstr("can't name a policy; expected 1 to 64")));
  EXPECT_THAT(one("{value: x}"), ElementsAre(HasSubstr("3:3: descriptor has empty key")));
  EXPECT_THAT(one("{key: a}\n- {key: a}"),
              ElementsAre(HasSubstr("4:9: duplicate descriptor composite key 'a'")));
  EXPECT_THAT(one("{key: a, value: b}\n- {key: a, value: b}"),
              ElementsAre(HasSubstr("4:9: duplicate descriptor composite key 'a_b'")));
  EXPECT_THAT(one("{key: a, rate_limit: {unit: fortnight, requests_per_unit: 1}}"),
              ElementsAre(HasSubstr("3:31: invalid rate limit unit 'fortnight'; expected second")));
  EXPECT_THAT(one("{key: a, rate_limit: {requests_per_unit: 1}}"),
              ElementsAre(HasSubstr("3:24: invalid rate limit unit ''")));
  EXPECT_THAT(one("{key: a, rate_limit: {unit: day}}"),
              ElementsAre(HasSubstr("rate_limit has no 'requests_per_unit'")));
  EXPECT_THAT(one("{key: a, rate_limit: {unit: day, requests_per_unit: 4294967296}}"),
              ElementsAre(HasSubstr("requests_per_unit '4294967296'")));
  EXPECT_THAT(one("{key: a, rate_limit: {unit: day, requests_per_unit: 010}}"),
              ElementsAre(HasSubstr("'010' has a 0 in front, and is octal in Go; expected 10")));
  EXPECT_THAT(one("{key: a, rate_limit: {unit: day, unlimited: true}}"),
              ElementsAre(HasSubstr("should not specify rate limit unit when unlimited")));
  EXPECT_THAT(one("{key: a, rate_limit: {unlimited: true, replaces: [{name: ''}]}}"),
              ElementsAre(HasSubstr("should not have an empty replaces entry")));
  EXPECT_THAT(one("{key: a, rate_limit: {unlimited: true, name: n, replaces: [{name: n}]}}"),
              ElementsAre(HasSubstr("replaces should not contain name of same descriptor")));
  EXPECT_THAT(one("{key: a, value: b, share_threshold: true}"),
              ElementsAre(HasSubstr("3:39: share_threshold can only be used with wildcard")));
  EXPECT_THAT(one("{key: a, rate_limits: {}}"),
              ElementsAre(HasSubstr("3:12: unknown key 'rate_limits' in a descriptor; did you mean "
                                    "'rate_limit'?")));
  EXPECT_THAT(one("{[a]: b}"), testing::Contains(HasSubstr("a key of a descriptor is a list")));
  EXPECT_THAT(one("just text"), ElementsAre(HasSubstr("3:3: a descriptor is")));
  EXPECT_THAT(one("{key: a, shadow_mode: maybe}"), ElementsAre(HasSubstr("shadow_mode 'maybe'")));
  EXPECT_THAT(faults("[]\n"), ElementsAre(HasSubstr("1:1: the file is a list")));
  EXPECT_THAT(one("{key: a, rate_limit: , descriptors: , value: }"), IsEmpty());
}

// An alias may make a tree deeper than its file.
TEST_F(EnvoyTest, DepthIsBounded) {
  std::string text = "domain: shop\ndescriptors:\n- &d0 {key: a}\n";
  for (int i = 0; i < 200; ++i) {
    text += "- &d" + std::to_string(i + 1) + " {key: a" + std::to_string(i) + ", descriptors: [*d" +
            std::to_string(i) + "]}\n";
  }
  EXPECT_THAT(faults(text), testing::Contains(HasSubstr("descriptors are nested too deeply")));
}

TEST_F(EnvoyTest, MatchingTakesNoLongerForMoreLimits) {
  std::string text = "domain: shop\ndescriptors:\n";
  constexpr int limits = 20000;
  for (int i = 0; i < limits; ++i) {
    text += "- {key: user, value: u" + std::to_string(i) +
            ", rate_limit: {unit: day, requests_per_unit: " + std::to_string(i) + "}}\n";
  }
  const auto set = good(text);
  EXPECT_EQ(set->policies()[0].grants.size(), limits + 1u);
  EXPECT_EQ(limit_of(*set, {{"user", "u19999"}}), "user=u19999");
  EXPECT_EQ(limit_of(*set, {{"user", "u20000"}}), "");
}

}  // namespace
}  // namespace headgate::policy
