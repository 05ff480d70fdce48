#include "headgate/policy/share_states.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "headgate/policy/file/load.h"
#include "headgate/policy/live/override.h"
#include "headgate/policy/policy_set.h"

namespace headgate::policy {
namespace {

// A request from a trusted proxy whose two headers name two clients.
class TwoClients final : public Headers {
 public:
  explicit TwoClients(std::string_view forwarded) : forwarded_(forwarded) {}
  std::optional<std::string_view> line(std::string_view name,
                                       std::size_t nth) const noexcept override {
    if (nth > 0) return std::nullopt;
    if (name == "x-forwarded-for") return "198.51.100.1";
    if (name == "forwarded") return forwarded_;
    return std::nullopt;
  }

 private:
  std::string_view forwarded_;
};

std::shared_ptr<const PolicySet> policies_of(const std::string& policy,
                                             const std::string& rest = "") {
  const auto loaded = load_text("version: 1\nclient-address: {trusted-proxies: [10.0.0.0/8]}\n" +
                                    rest + "policies: [{name: p, " + policy + "}]\n",
                                "test.yaml");
  EXPECT_TRUE(loaded) << loaded.error().front().text();
  return loaded ? *loaded : nullptr;
}

// The store key of a request of 10.0.0.1 that may be of this client.
std::string key_beside(const PolicySet& policies, std::string_view forwarded) {
  const TwoClients headers(forwarded);
  Request request;
  request.path = "/";
  request.peer = Address::parse("10.0.0.1");
  request.headers = &headers;
  Scratch scratch;
  return std::string(policies.match(request, scratch).front().key);
}

constexpr const char* const nobody = "for=198.51.100.2";
constexpr const char* const one_that_gets_less = "for=192.0.2.1";

// A debt is cut to the quota under which it is seen: under the lesser one it would be given back.
TEST(ShareStates, QuotasOfAWindowThatMayOweUnitsAreApartAlsoFromEachOther) {
  const std::string quotas =
      "quota: 10, window: 2s, algorithm: fixed-window, "
      "overrides: [{ids: [10.0.0.0/8], quota: 100}, {ids: [192.0.2.1], quota: 1}]";
  const auto owing = policies_of("delay: 2s, " + quotas);
  EXPECT_NE(key_beside(*owing, nobody), key_beside(*owing, one_that_gets_less));
  const auto owing_nothing = policies_of(quotas);
  EXPECT_EQ(key_beside(*owing_nothing, nobody), key_beside(*owing_nothing, one_that_gets_less));
}

TEST(ShareStates, WhatIsLeasedIsApartAlsoFromWhatIsApart) {
  const auto policies = policies_of(
      "quota: 40, window: 1h, sharing: leased, "
      "overrides: [{ids: [10.0.0.0/8], quota: 1000, window: 2h}, {ids: [192.0.2.1], quota: 19}]",
      "store: {redis: {nodes: ['127.0.0.1:6379']}}\n");
  EXPECT_NE(key_beside(*policies, nobody), key_beside(*policies, one_that_gets_less));
}

// 10 s / 75 is no whole number of nanoseconds, and the states of other clients stay as they are.
TEST(ShareStates, LinearStatesOfTwoKindsAreApartAlsoFromEachOther) {
  const auto policies = policies_of(
      "quota: 100, window: 10s, overrides: [{ids: [10.0.0.0/8], quota: 1000, window: 20s}]");
  const LiveOverride override{"p", "192.0.2.1", 75};
  const auto overridden = policies->with(std::span(&override, 1)).policies;
  EXPECT_NE(key_beside(*overridden, nobody), key_beside(*overridden, one_that_gets_less));
}

TEST(ShareStates, EachStateThatIsApartIsListed) {
  const auto policies = policies_of(
      "quota: 10, window: 2s, algorithm: fixed-window, delay: 2s, "
      "overrides: [{ids: [10.0.0.0/8], quota: 100}, {ids: [192.0.2.1], quota: 1}]");
  std::string text;
  std::string others;
  const auto own = policies->named("p", "10.0.0.1", 0, text);
  ASSERT_TRUE(own);
  std::set<std::string> listed;
  for (const Match& match : policies->apart(*own, 10, others)) listed.emplace(match.key);
  EXPECT_EQ(listed.size(), 2U);
  EXPECT_EQ(listed,
            (std::set{key_beside(*policies, nobody), key_beside(*policies, one_that_gets_less)}));
}

// As a reload changes numbers.
TEST(ShareStates, WhatIsApartStaysUnderItsKeyAsNumbersChange) {
  const auto key_of = [](int quota, const char* more) {
    const auto policies =
        policies_of(std::string(more) + "window: 600s, quota: " + std::to_string(quota) +
                    ", overrides: [{ids: [10.0.0.0/8], quota: 1000, window: 1h}]");
    return key_beside(*policies, nobody);
  };
  EXPECT_EQ(key_of(10, ""), key_of(11, ""));
  EXPECT_EQ(key_of(10, "algorithm: fixed-window, delay: 1s, "),
            key_of(11, "algorithm: fixed-window, delay: 1s, "));
}

// A client that names many others who get less has two buckets besides its own.
TEST(ShareStates, AllThatGetLessAreOne) {
  std::string policy =
      "quota: 50, window: 600s, algorithm: fixed-window, delay: 1s, "
      "overrides: [{ids: [10.0.0.0/8], quota: 100}";
  for (int i = 1; i <= 9; ++i) {
    policy += ", {ids: [192.0.2." + std::to_string(i) + "], quota: " + std::to_string(9 + i) + '}';
  }
  const auto policies = policies_of(policy + ']');
  std::set<std::string> keys{key_beside(*policies, nobody)};
  for (int i = 1; i <= 9; ++i) {
    keys.insert(key_beside(*policies, "for=192.0.2." + std::to_string(i)));
  }
  EXPECT_EQ(keys.size(), 2U);
}

TEST(ShareStates, EachDifferenceHasATextOfItsOwn) {
  const StateKind own{.window = nanos_per_second};
  const StateKind kinds[] = {
      own,
      {.window = nanos_per_second + 5},
      {.window = 10 * nanos_per_second},
      {.window = nanos_per_second, .debt = 1},
      {.window = nanos_per_second, .law = 1},
      {.window = nanos_per_second, .outage_law = 1},
      {.window = nanos_per_second, .leased = true},
  };
  std::set<std::string> texts;
  for (const StateKind& kind : kinds) {
    std::string text;
    kind.append_to(text, own);
    EXPECT_TRUE(texts.insert(text).second) << text;
  }
}

}  // namespace
}  // namespace headgate::policy
