#include <gtest/gtest.h>

#include "headgate/policy/file/load.h"

namespace headgate::policy {
namespace {

TEST(FlowText, APolicyKeepsTheTextsOfItsKeyMatchAndCost) {
  const auto loaded = load_text(R"(version: 1
policies:
  - name: all
    quota: 1
    window: 1
  - name: some
    quota: 1
    window: 1
    key:
      - header:x-key
      - address/24
    match:
      - path: "/v1/*"
        method: [GET, POST]
        header: {x-plan: "it's, free"}
    cost: {request-header: x-cost}
    denied: spend
)",
                                "test.yaml");
  ASSERT_TRUE(loaded);
  const Policy& all = (*loaded)->policies()[0];
  EXPECT_EQ(all.key_text, "[address]");
  EXPECT_EQ(all.match_text, "");
  EXPECT_EQ(all.cost_text, "1");
  const Policy& some = (*loaded)->policies()[1];
  EXPECT_EQ(some.key_text, "[header:x-key, address/24]");
  EXPECT_EQ(some.match_text,
            "[{path: /v1/*, method: [GET, POST], header: {x-plan: 'it''s, free'}}]");
  EXPECT_EQ(some.cost_text, "{request-header: x-cost}");
  EXPECT_EQ(some.terms.denied, limit::Denied::spend);
}

TEST(FlowText, LongTextsAreCut) {
  const auto loaded =
      load_text("version: 1\npolicies: [{name: a, quota: 1, window: 1, match: [{path: /" +
                    std::string(5000, 'x') + "}]}]\n",
                "test.yaml");
  ASSERT_TRUE(loaded);
  EXPECT_EQ((*loaded)->policies()[0].match_text.size(), 1003u);
}

}  // namespace
}  // namespace headgate::policy
