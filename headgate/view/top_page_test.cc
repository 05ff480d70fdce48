// The text of /v1/top.

#include "headgate/view/top_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <span>

#include "headgate/gate/table_options.h"
#include "headgate/policy/file/load.h"

namespace headgate::view {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class TopPageTest : public testing::Test {
 protected:
  TopPageTest()
      : policies(policy::load_text("version: 1\npolicies: [{name: burst, quota: 1, window: 1h}]\n",
                                   "test.yaml")
                     .value()),
        table(store::Table::open(options()).value()),
        gate(policies, *table, table->secret(), std::span<gate::PolicyCounts>()),
        labels(gate) {}

  [[nodiscard]] store::TableOptions options() const {
    auto made = gate::table_options(*policies);
    made.memory = 1 << 20;
    return made;
  }
  [[nodiscard]] json read(const std::string& query, const Recent& recent,
                          std::optional<bool> redis_up = std::nullopt) const {
    const Page page = top_page(query, recent, labels, redis_up);
    EXPECT_EQ(page.status, 200u);
    EXPECT_EQ(page.type, "application/json");
    return json::parse(page.body);
  }

  std::shared_ptr<const policy::PolicySet> policies;
  std::unique_ptr<store::Table> table;
  gate::Gate gate;
  Labels labels;
};

TEST_F(TopPageTest, AddsUpTheWorkers) {
  Recent sum;
  sum.add({10, 5, 1, 0, {{"burst", "a", 4, 5, 1}, {"burst", "b", 6, 6, 2}}, {}});
  sum.add({2, 1, 0, 0, {{"burst", "a", 3, 3, 1}}, {{"burst", "a", 1, 1, 0}}});
  const json page = read("", sum);
  EXPECT_EQ(page["keys"], "opaque");
  EXPECT_EQ(page["requests_per_second"], 12);
  EXPECT_EQ(page["denied_per_second"], 6);
  EXPECT_EQ(page["shadow_denied_per_second"], 1);
  EXPECT_FALSE(page.contains("redis"));
  ASSERT_EQ(page["busiest"].size(), 2u);
  EXPECT_EQ(page["busiest"][0]["key"], "a");
  EXPECT_EQ(page["busiest"][0]["per_second"], 7);
  EXPECT_EQ(page["busiest"][0]["at_most_per_second"], 8);
  EXPECT_EQ(page["busiest"][0]["units_per_second"], 2);
  EXPECT_EQ(page["most_denied"].size(), 1u);
}

TEST_F(TopPageTest, ListsAsManyAsWanted) {
  Recent recent;
  for (int i = 0; i < 200; ++i) {
    recent.busiest.push_back({"burst", std::to_string(i), 1.0 + i, 1.0 + i, 0});
  }
  EXPECT_EQ(read("", recent)["busiest"].size(), 20u);
  const json three = read("n=3", recent);
  ASSERT_EQ(three["busiest"].size(), 3u);
  EXPECT_EQ(three["busiest"][0]["key"], "199");
  EXPECT_EQ(read("n=100", recent)["busiest"].size(), 100u);
}

TEST_F(TopPageTest, RefusesOtherQueries) {
  for (const char* query : {"n=0", "n=101", "n=", "m=1", "n=1x"}) {
    const Page page = top_page(query, {}, labels, std::nullopt);
    EXPECT_EQ(page.status, 400u) << query;
    EXPECT_THAT(page.body, HasSubstr("expected the query n=N, with N from 1 to 100"));
  }
}

TEST_F(TopPageTest, ShowsRedisIfThereIsOne) {
  Recent recent;
  recent.outage = 2.5;
  const json page = read("", recent, false);
  EXPECT_EQ(page["redis"]["up"], false);
  EXPECT_EQ(page["redis"]["decisions_without_it_per_second"], 2.5);
}

}  // namespace
}  // namespace headgate::view
