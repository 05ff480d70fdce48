// Boulder's files in a policy file: the policies that result, and the faults of bad files.
#include "headgate/policy/boulder/read_boulder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "headgate/policy/file/load.h"
#include "headgate/policy/live/override.h"

namespace headgate::policy {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// As Boulder's README has it, with addresses that are not reserved.
constexpr const char* defaults = R"(NewRegistrationsPerIPAddress:
  burst: 20
  count: 20
  period: 1s
NewOrdersPerAccount:
  burst: 300
  count: 300
  period: 180m
FailedAuthorizationsPerDomainPerAccount: {burst: 3, count: 3, period: 1h30m}
CertificatesPerDomainPerAccount: {burst: 1, count: 1, period: 1s}
)";
constexpr const char* readme_overrides = R"(- NewRegistrationsPerIPAddress:
    burst: 20
    count: 40
    period: 1s
    ids:
      - 64.112.117.1
      - 2602:80a:6000::42:42
- NewOrdersPerAccount:
    burst: 300
    count: 600
    period: 180m
    ids:
      - 12345678
      - 87654321
)";
constexpr const char* current_overrides = R"(- NewRegistrationsPerIPAddress:
    burst: 20
    count: 40
    period: 1s
    ids:
      - id: 64.112.117.1
        comment: an office
      - id: 2602:80a:6000::42:42
- NewOrdersPerAccount:
    burst: 300
    count: 600
    period: 180m
    ids:
      - {id: 12345678, comment: ""}
      - {comment: two, id: 87654321}
)";

class BoulderTest : public testing::Test {
 protected:
  BoulderTest() { std::filesystem::create_directory(path_); }
  ~BoulderTest() override { std::filesystem::remove_all(path_); }

  void write(const std::string& name, const std::string& text) {
    std::ofstream(path_ + "/" + name) << text;
  }
  Loaded load(const std::string& boulder = "{defaults: d.yml, overrides: o.yml}",
              const std::string& policies = "") {
    return load_text("version: 1\n" + policies + "boulder: " + boulder + "\n",
                     path_ + "/headgate.yaml");
  }
  // Returns the policies of files that the test expects to be good.
  std::shared_ptr<const PolicySet> good() {
    const Loaded loaded = load();
    if (!loaded) throw std::runtime_error(loaded.error().front().text());
    return *loaded;
  }
  // The faults, without the directory.
  std::vector<std::string> faults(const Loaded& loaded) {
    std::vector<std::string> texts;
    if (loaded) return texts;
    for (const Fault& fault : loaded.error()) {
      texts.push_back(fault.text().substr(path_.size() + 1));
    }
    return texts;
  }
  std::vector<std::string> faults_of_defaults(const std::string& text) {
    write("d.yml", text);
    return faults(load("{defaults: d.yml}"));
  }
  std::vector<std::string> faults_of_overrides(const std::string& text) {
    write("o.yml", text);
    return faults(load("{overrides: o.yml}"));
  }
  static const Grant& grant(const PolicySet& set, std::string_view limit, std::string_view id) {
    static std::string key;
    return *set.named(limit, id, 1, key).value().grant;
  }

  const std::string path_ =
      (std::filesystem::temp_directory_path() / ("headgate-boulder-" + std::to_string(getpid())))
          .string();
};

constexpr Nanos ms = 1'000'000;

TEST_F(BoulderTest, AnOverrideThatIsMadeWhileAProgramRunsIsOfARegistrationIdToo) {
  write("d.yml",
        "FailedAuthorizationsPerDomainPerAccount: {burst: 5, count: 5, period: 1h}\n"
        "CertificatesPerDomain: {burst: 5, count: 5, period: 1h}\n");
  const auto set = load("{defaults: d.yml}").value();
  const std::string limit = "FailedAuthorizationsPerDomainPerAccount";
  EXPECT_EQ(set->fault_of({limit, "9:a.example.com", 1}),
            "key '9:a.example.com' is of one bucket, and overrides of this limit are of a "
            "registration id; expected 9");
  EXPECT_EQ(set->fault_of({limit, "9", 1}), "");
  EXPECT_EQ(set->fault_of({"CertificatesPerDomain", "www.example.com", 1}), "")
      << "as any notation of example.com";
}

// Boulder's own test configuration has such ids.
TEST_F(BoulderTest, IdsThatBoulderNeverAppliesAreWarnings) {
  write("d.yml", "CertificatesPerDomain: {burst: 2, count: 2, period: 2160h}\n");
  write("o.yml", R"(- CertificatesPerDomain:
    burst: 10000
    count: 10000
    period: 2160h
    ids:
      - id: ecdsa.le.wtf
        comment: ECDSA Test Domain
      - id: nginx.wtf
)");
  const auto set = good();
  ASSERT_EQ(set->warnings().size(), 1U);
  EXPECT_EQ(set->warnings()[0].text().substr(path_.size() + 1),
            "o.yml:6:13: id 'ecdsa.le.wtf' is never applied, because this limit counts by "
            "registered domains; expected le.wtf");
  EXPECT_EQ(grant(*set, "CertificatesPerDomain", "nginx.wtf").quota.units, 10'000U);
  for (const char* name : {"ecdsa.le.wtf", "le.wtf", "www.le.wtf"}) {
    EXPECT_EQ(grant(*set, "CertificatesPerDomain", name).quota.units, 2U) << name;
  }
}

TEST_F(BoulderTest, BothFormsOfOverridesAreRead) {
  for (const char* const overrides : {readme_overrides, current_overrides}) {
    write("d.yml", defaults);
    write("o.yml", overrides);
    const auto set = good();
    EXPECT_EQ(set->policies().size(), 9U);
    const std::string_view by_address = "NewRegistrationsPerIPAddress";
    EXPECT_EQ(grant(*set, by_address, "64.112.117.2").quota, (limit::Quota{20, 1000 * ms}));
    EXPECT_EQ(grant(*set, by_address, "64.112.117.1").quota, (limit::Quota{20, 500 * ms}));
    EXPECT_EQ(grant(*set, by_address, "2602:80A:6000:0::42:42").quota.window, 500 * ms);
    EXPECT_EQ(grant(*set, "NewOrdersPerAccount", "12345678").quota.window, 90 * 60'000 * ms);
    EXPECT_EQ(grant(*set, "NewOrdersPerAccount", "1").quota.window, 180 * 60'000 * ms);
  }
}

TEST_F(BoulderTest, IntervalsAreWholeNanosecondsAsBoulderHasThem) {
  write("d.yml", "NewOrdersPerAccount: {burst: 3, count: 3, period: 1s}\n");
  write("o.yml", current_overrides);
  const auto set = good();
  const Grant& own = grant(*set, "NewOrdersPerAccount", "1");
  EXPECT_EQ(own.quota, (limit::Quota{3, 999'999'999}));
  EXPECT_TRUE(std::holds_alternative<limit::LinearWhole>(own.law));
}

TEST_F(BoulderTest, PeriodsAreThoseThatGoReads) {
  write("d.yml",
        "NewOrdersPerAccount: {burst: 1, count: 1, period: .5s}\n"
        "NewRegistrationsPerIPAddress: {burst: 1, count: 1, period: +1h.5m}\n");
  write("o.yml", current_overrides);
  const auto set = good();
  EXPECT_EQ(grant(*set, "NewOrdersPerAccount", "1").quota.window, 500 * ms);
  EXPECT_EQ(grant(*set, "NewRegistrationsPerIPAddress", "10.0.0.1").quota.window, 3'630'000 * ms);
}

TEST_F(BoulderTest, WithoutADefaultOnlyOverridesAreLimited) {
  write("d.yml", defaults);
  write("o.yml", R"(- CertificatesPerDomainPerAccount:
    {burst: 5, count: 5, period: 168h, ids: [{id: 7}]}
- FailedAuthorizationsPerDomainPerAccount: {burst: 9, count: 9, period: 1h, ids: [7]}
- CertificatesPerDomain: {burst: 8, count: 8, period: 1h, ids: [example.co.uk, 64.112.117.1]}
- CertificatesPerFQDNSet: {burst: 4, count: 4, period: 1h, ids: ["b.example.com,a.example.com"]}
)");
  const auto set = good();
  EXPECT_TRUE(grant(*set, "NewRegistrationsPerIPv6Range", "2602:80a:6000::/48").unlimited);
  EXPECT_TRUE(grant(*set, "CertificatesPerDomainPerAccount", "8:example.com").unlimited)
      << "Boulder ignores its default";
  EXPECT_EQ(grant(*set, "CertificatesPerDomainPerAccount", "7:example.com").quota.units, 5U);
  EXPECT_EQ(grant(*set, "FailedAuthorizationsPerDomainPerAccount", "7:example.com").quota.units,
            9U);
  EXPECT_EQ(grant(*set, "FailedAuthorizationsPerDomainPerAccount", "8:example.com").quota.units,
            3U);
  EXPECT_EQ(grant(*set, "CertificatesPerDomain", "*.www.example.co.uk").quota.units, 8U);
  EXPECT_EQ(grant(*set, "CertificatesPerDomain", "64.112.117.1").quota.units, 8U);
  EXPECT_TRUE(grant(*set, "CertificatesPerDomain", "example.com").unlimited);
  EXPECT_EQ(grant(*set, "CertificatesPerFQDNSet", "A.example.com,b.example.com").quota.units, 4U);
}

TEST_F(BoulderTest, EachBucketOfAnAccountHasItsOwnCount) {
  write("d.yml", defaults);
  write("o.yml", current_overrides);
  const auto set = good();
  std::string one;
  std::string other;
  const auto a = set->named("FailedAuthorizationsPerDomainPerAccount", "7:a.example.com", 2, one);
  const auto b = set->named("FailedAuthorizationsPerDomainPerAccount", "7:b.example.com", 2, other);
  EXPECT_NE(a->key, b->key);
  EXPECT_EQ(a->partition, "7:a.example.com");
  EXPECT_EQ(a->cost, 2U);
  EXPECT_EQ(a->policy->name, "FailedAuthorizationsPerDomainPerAccount");
}

TEST_F(BoulderTest, TheLaterOfTwoOverridesHolds) {
  write("d.yml", defaults);
  write("o.yml", R"(- NewOrdersPerAccount: {burst: 1, count: 1, period: 1s, ids: [7, 8]}
- NewOrdersPerAccount: {burst: 2, count: 1, period: 1s, ids: [7]}
)");
  const auto set = good();
  EXPECT_EQ(grant(*set, "NewOrdersPerAccount", "7").quota.units, 2U);
  EXPECT_EQ(grant(*set, "NewOrdersPerAccount", "8").quota.units, 1U);
}

TEST_F(BoulderTest, NoRequestMatchesThem) {
  write("d.yml", defaults);
  class None final : public Headers {
    [[nodiscard]] std::optional<std::string_view> line(std::string_view,
                                                       std::size_t) const noexcept override {
      return std::nullopt;
    }
  };
  const None headers;
  Request request;
  request.headers = &headers;
  Scratch scratch;
  const Loaded loaded = load("{defaults: d.yml}", "policies: [{name: mine, rate: 1/s}]\n");
  ASSERT_TRUE(loaded);
  ASSERT_EQ((*loaded)->policies().size(), 10U);
  const auto matches = (*loaded)->match(request, scratch);
  ASSERT_EQ(matches.size(), 1U);
  EXPECT_EQ(matches[0].policy->name, "mine");
}

TEST_F(BoulderTest, AHundredThousandOverrides) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) {
    text += "- NewOrdersPerAccount: {burst: " + std::to_string(1 + i % 1000) +
            ", count: 600, period: 180m, ids: [{id: " + std::to_string(i) + ", comment: c}]}\n";
  }
  write("d.yml", defaults);
  write("o.yml", text);
  const auto set = good();
  EXPECT_EQ(set->policies()[2].grants.size(), 1001U) << "like ones share a grant";
  for (const int i : {0, 1, 99'998, 99'999}) {
    EXPECT_EQ(grant(*set, "NewOrdersPerAccount", std::to_string(i)).quota.units,
              static_cast<std::uint64_t>(1 + i % 1000));
  }
}

TEST_F(BoulderTest, FaultsOfDefaults) {
  EXPECT_THAT(faults_of_defaults(""),
              ElementsAre("d.yml:1:1: the file is empty; expected a map of limits"));
  EXPECT_THAT(faults_of_defaults("- a\n"),
              ElementsAre("d.yml:1:1: the file is a list; expected a map from names of limits to "
                          "burst, count and period"));
  EXPECT_THAT(faults_of_defaults("NewOrdersPerAcount: {burst: 1, count: 1, period: 1s}\n"),
              ElementsAre("d.yml:1:1: limit in the defaults 'NewOrdersPerAcount' is unknown; did "
                          "you mean 'NewOrdersPerAccount'?"));
  EXPECT_THAT(faults_of_defaults("\"\": {burst: 1, count: 1, period: 1s}\n"),
              ElementsAre(HasSubstr("d.yml:1:1: limit in the defaults '' is unknown")));
  EXPECT_THAT(
      faults_of_defaults(
          "NewOrdersPerAccount:\n  burst: 0\n  count: -1\n  period: 5d\n  cost: 1\n"),
      ElementsAre(
          "d.yml:2:10: burst '0' is out of range; expected an integer, 1 to 999999999999999",
          "d.yml:3:10: count '-1' is not an integer; expected an integer, 1 to 999999999999999",
          "d.yml:4:11: period '5d' is not a duration of Go; expected numbers with a unit ns us ms "
          "s m h, like 1h30m",
          "d.yml:5:3: unknown key 'cost' in a default; expected burst, count or period"));
  EXPECT_THAT(
      faults_of_defaults("NewOrdersPerAccount: {burst: 010, count: 1, period: 1s}\n"),
      ElementsAre("d.yml:1:30: burst '010' has a 0 in front, and is octal in Go; expected 10 "
                  "without it, if that is meant"));
  EXPECT_THAT(faults_of_defaults("NewOrdersPerAccount: {burst: 1}\n"),
              ElementsAre("d.yml:1:22: a default has no 'count'; expected an integer of at least 1",
                          "d.yml:1:22: a default has no 'period'; expected a duration like 180m"));
  EXPECT_THAT(
      faults_of_defaults("NewOrdersPerAccount: {burst: 1, count: 2000000000, period: 1s}\n"),
      ElementsAre("d.yml:1:40: count is more than one token per nanosecond; expected less, "
                  "or a longer period"));
  EXPECT_THAT(
      faults_of_defaults("NewOrdersPerAccount: {burst: 999999999999999, count: 1, period: 1h}\n"),
      ElementsAre(HasSubstr("d.yml:1:54: a bucket takes too long to fill")));
  EXPECT_THAT(faults_of_defaults("NewOrdersPerAccount: {burst: 1, count: 1, period: 0s}\n"),
              ElementsAre("d.yml:1:51: period '0s' is out of range; expected more than 0"));
  EXPECT_THAT(faults_of_defaults(std::string(defaults) + "---\n" + defaults),
              ElementsAre(HasSubstr("a second document starts here")));
  EXPECT_THAT(faults_of_defaults(std::string(defaults) + defaults),
              testing::Contains(HasSubstr("duplicate limit 'NewRegistrationsPerIPAddress'")));
}

TEST_F(BoulderTest, FaultsOfOverrides) {
  EXPECT_THAT(faults_of_overrides(defaults),
              ElementsAre("o.yml:1:1: the file is a map; expected a list of overrides"));
  EXPECT_THAT(faults_of_overrides("[]\n"),
              ElementsAre("o.yml:1:1: the file has no overrides; expected some, or no such file in "
                          "the policy file"));
  EXPECT_THAT(faults_of_overrides("- a\n- {}\n- {a: 1, b: 2}\n"),
              ElementsAre(HasSubstr("o.yml:1:3: an override is a single value"),
                          HasSubstr("o.yml:2:3: an override is a map of several keys"),
                          HasSubstr("o.yml:3:3: an override is a map of several keys")));
  EXPECT_THAT(
      faults_of_overrides("- NewOrdersPerAccount: {burst: 1, count: 1, period: 1s}\n"
                          "- NewOrdersPerAccount: {burst: 1, count: 1, period: 1s, ids: []}\n"
                          "- NewOrdersPerAccount: {burst: 1, count: 1, period: 1s, ids: [lol, "
                          "{id: \"\"}, {name: 3}, [4], {id: 1, comment: [a]}]}\n"
                          "- Orders: {burst: 0, count: 1, period: 1s, ids: [1]}\n"),
      ElementsAre(
          "o.yml:1:24: an override has no 'ids'; expected a list of ids",
          "o.yml:2:62: ids is an empty list; expected at least one id",
          "o.yml:3:63: id 'lol' is not a registration id; expected an integer like 12345678",
          "o.yml:3:73: id '' is empty; expected what the limit counts by",
          "o.yml:3:78: an id has no 'id'; expected it together with 'comment'",
          "o.yml:3:79: unknown key 'name' in an id; expected id or comment",
          "o.yml:3:89: an id is a list; expected a text, or a map with 'id' and 'comment'",
          "o.yml:3:111: comment is a list; expected a text",
          HasSubstr("o.yml:4:3: limit in the overrides 'Orders' is unknown"),
          HasSubstr("o.yml:4:19: burst '0' is out of range")));
}

TEST_F(BoulderTest, FaultsOfThePolicyFile) {
  EXPECT_THAT(faults(load("{}")),
              ElementsAre("headgate.yaml:2:10: boulder is an empty map; expected 'defaults', "
                          "'overrides' or both"));
  EXPECT_THAT(
      faults(load("{default: x}")),
      testing::Contains("headgate.yaml:2:11: unknown key 'default' in boulder; did you mean "
                        "'defaults'?"));
  EXPECT_THAT(faults(load("{defaults: none.yml}")),
              ElementsAre("headgate.yaml:2:21: defaults '" + path_ +
                          "/none.yml' can't be read: No such file or directory; expected "
                          "Boulder's file of default limits"));
  EXPECT_THAT(faults(load("{defaults: .}")), ElementsAre(HasSubstr("is no regular file")));
  write("d.yml", defaults);
  EXPECT_THAT(
      faults(load("{defaults: d.yml}", "policies: [{name: NewOrdersPerAccount, rate: 1/s}]\n")),
      ElementsAre("headgate.yaml:3:10: boulder brings a policy 'NewOrdersPerAccount', and "
                  "there is one of that name; expected another name for yours"));
  std::string many = "policies:\n";
  for (std::size_t i = 0; i < policies_max - 8; ++i) {
    const std::string n = std::to_string(i);
    many += "  - {name: p" + n + ", rate: 1/s, match: {path: /" + n + "}}\n";
  }
  EXPECT_THAT(
      faults(load("{defaults: d.yml}", many)),
      ElementsAre(HasSubstr("boulder brings 9 policies, with which there are more than 10000")));
}

}  // namespace
}  // namespace headgate::policy
