// PolicySet::fields_used(): the parts of requests that policies read.
#include <gtest/gtest.h>

#include "headgate/policy/file/load.h"
#include "headgate/policy/policy_set.h"

namespace headgate::policy {
namespace {

std::shared_ptr<const PolicySet> load(const std::string& yaml) {
  const Loaded loaded = load_text(yaml, "test.yaml");
  EXPECT_TRUE(loaded) << loaded.error().front().text();
  return loaded ? *loaded : nullptr;
}

TEST(FieldsUsed, OnlyThoseThatSomePolicyReads) {
  const FieldsUsed none =
      load("version: 1\npolicies: [{name: a, quota: 1, window: 1s}]\n")->fields_used();
  EXPECT_FALSE(none.method || none.host || none.path || none.query);
  EXPECT_TRUE(none.request_headers.empty() && none.response_headers.empty());

  const FieldsUsed all = load(R"(version: 1
client-address: {trusted-proxies: [10.0.0.1]}
policies:
  - {name: a, quota: 1, window: 1s, key: ["query:q", "cookie:c", "header:H", host]}
  - {name: b, quota: 1, window: 1s, match: [{path: "/x", method: GET, header: {x-plan: free}}]}
  - {name: c, quota: 1, window: 1s, cost: {response-header: X-Cost}}
  - {name: d, quota: 1, window: 1s, mode: off, key: ["header:unused"]}
)")
                             ->fields_used();
  EXPECT_TRUE(all.method && all.host && all.path && all.query);
  EXPECT_EQ(all.request_headers,
            (std::set<std::string>{"cookie", "forwarded", "h", "x-forwarded-for", "x-plan"}));
  EXPECT_EQ(all.response_headers, (std::set<std::string>{"x-cost"}));
}

}  // namespace
}  // namespace headgate::policy
