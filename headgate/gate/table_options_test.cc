// How many keys find a place in a table that is divided for some policies.
#include "headgate/gate/table_options.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "headgate/base/testing/temporary_directory.h"
#include "headgate/gate/testing/policies.h"
#include "headgate/store/table.h"

namespace headgate::gate {
namespace {

using Policies = std::shared_ptr<const policy::PolicySet>;

Policies policies(const std::string& lines) { return loaded("policies:\n" + lines); }

std::unique_ptr<store::Table> table_for(const Policies& set, std::size_t memory) {
  store::TableOptions options = table_options(*set);
  options.memory = memory;
  options.sharing = store::Sharing::threads;
  return store::Table::open(options).value();
}

// Makes requests of so many keys of the first policy. Returns the share of those that found no
// place [%].
double unkept(store::Table& table, const Policies& set, std::uint64_t keys, int requests = 1) {
  Instant now = table.now();
  const std::uint64_t before = table.stats().unkept;
  for (std::uint64_t i = 0; i < keys; ++i) {
    const std::string key = "key" + std::to_string(i);
    store::Charge charge;
    charge.law = &set->policies().front().grants.front().law;
    charge.key = key;
    limit::Decision decision;
    for (int request = 0; request < requests; ++request) {
      store::Bundle bundle;
      bundle.charges = {&charge, 1};
      bundle.decisions = {&decision, 1};
      table.take({&bundle, 1}, now, {});
      ++now.ns;  // each request has a record of its own
    }
  }
  return 100 * static_cast<double>(table.stats().unkept - before) /
         static_cast<double>(keys * static_cast<std::uint64_t>(requests));
}

const std::string whole = "- {name: a, quota: 5, window: 3h}\n";
const std::string exact = "- {name: a, quota: 7, window: 3h}\n";
const std::string fixed = "- {name: a, quota: 5, window: 3h, algorithm: fixed-window}\n";
const std::string moving = "- {name: a, quota: 50, window: 3h, algorithm: moving-window}\n";

struct Case {
  std::string policy;
  std::size_t key_bytes;  // as documented
  int requests;           // of each key
};

// [%]. Cells of a table that is two thirds full are not filled evenly.
constexpr double few = 0.5;

// docs/operations.md, "How much memory".
TEST(TableOptions, TheDocumentedMemoryIsEnough) {
  constexpr std::size_t keys = 30'000;
  for (const Case& c : {Case{whole, 16, 1}, Case{exact, 32, 1}, Case{fixed, 40, 1},
                        Case{moving, 168, 7}, Case{moving, 296, 14}}) {
    const Policies set = policies(c.policy);
    EXPECT_LT(unkept(*table_for(set, keys * c.key_bytes * 2), set, keys, c.requests), few)
        << c.policy;
  }
}

// The same page: a sixteenth each for entries and for logs.
TEST(TableOptions, AReloadOfAnotherKindFindsAnEighth) {
  constexpr std::size_t memory = 8 << 20;
  for (const Case& c :
       {Case{whole, 16, 1}, Case{exact, 32, 1}, Case{fixed, 2 * 40, 1}, Case{moving, 2 * 128, 7}}) {
    for (const std::string& before : {whole, exact, fixed}) {
      const auto table = table_for(policies(before), memory);
      EXPECT_LT(unkept(*table, policies(c.policy), memory / 8 / c.key_bytes * 2 / 3, c.requests),
                few)
          << "before:\n"
          << before << "after:\n"
          << c.policy;
    }
  }
}

TEST(TableOptions, PoliciesWithOneKeyTakeNothingFromOthers) {
  constexpr std::size_t keys = 30'000;
  const Policies set = policies(whole +
                                "- {name: all, quota: 500, algorithm: concurrency, key: []}\n"
                                "- {name: day, rate: 5000/day, time-zone: UTC, key: []}\n"
                                "- {name: burst, quota: 7, window: 1s, key: []}\n");
  EXPECT_LT(unkept(*table_for(set, keys * 16 * 2), set, keys), few);
}

TEST(TableOptions, WarnsOfATableThatWasDividedForOtherPolicies) {
  constexpr std::size_t memory = 8 << 20;
  for (const std::string& before : {whole, exact, fixed, moving}) {
    const auto table = table_for(policies(before), memory);
    for (const std::string& after : {whole, exact, fixed, moving}) {
      EXPECT_EQ(division_warning(table->stats(), *policies(after)).empty(), before == after)
          << "before:\n"
          << before << "after:\n"
          << after;
    }
    EXPECT_EQ(division_warning(table->stats(),
                               *policies(before + "- {name: b, quota: 7, window: 3h, key: []}\n")),
              "");
  }
  const auto table = table_for(policies(whole), memory);
  EXPECT_EQ(division_warning(table->stats(), *policies(exact)),
            "the table was divided for other policies: it has room for 32240 keys of the other "
            "linear policies, and one that was made for these policies would have room for about "
            "196608; if there are more keys, increase the table's memory (what is added is divided "
            "for these policies) or make a new table");
  store::TableOptions more = table_options(*policies(exact));
  more.memory = 3 * memory;
  ASSERT_TRUE(table->grow(more));
  EXPECT_EQ(division_warning(table->stats(), *policies(exact)), "");
}

TEST(TableOptions, WarnsOfAFileThatIsLargerThanIsAskedFor) {
  const TemporaryDirectory directory;
  store::TableOptions options = table_options(*policies(whole));
  options.memory = 1 << 20;
  options.file = directory.file("table");
  const auto table = store::Table::open(options).value();
  EXPECT_EQ(size_warning(table->stats(), options), "");
  options.memory = 2 << 20;
  EXPECT_EQ(size_warning(table->stats(), options), "");
  options.memory = 1 << 19;
  EXPECT_EQ(size_warning(table->stats(), options),
            options.file +
                ": is a table of 1048576 bytes, and 524288 were asked for; all of it is "
                "used, because a table cannot become smaller: ask for its size, or "
                "remove the file to start with full quotas");
}

TEST(TableOptions, TheLogOfOneKeyIsWholeBesideAnyPolicies) {
  for (const std::string& beside : {whole, exact, fixed}) {
    const Policies set =
        policies("- {name: all, quota: 4000, window: 1h, algorithm: moving-window, key: []}\n" +
                 std::string(beside));
    const auto table = table_for(set, 64 << 20);
    unkept(*table, set, 1, 4000);
    EXPECT_EQ(table->stats().merged, 0u) << beside;
  }
}

TEST(TableOptions, OneKeyAloneHasTheTable) {
  const Policies set =
      policies("- {name: a, quota: 9, window: 1h, algorithm: moving-window, key: []}\n");
  const store::TableOptions options = table_options(*set);
  EXPECT_GT(options.ledger_share, 40u);
  EXPECT_GT(options.log_share, 40u);
}

}  // namespace
}  // namespace headgate::gate
