// Two spellings of one path at the same time, which are counted under different numbers.

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "headgate/gate/gate.h"
#include "headgate/gate/table_options.h"
#include "headgate/gate/testing/policies.h"
#include "headgate/store/table.h"

namespace headgate::gate {
namespace {

constexpr std::array<std::string_view, 2> spellings = {"/a", "/A"};

// How many requests of each spelling are admitted, at one moment, from a thread for each.
std::array<std::uint64_t, 2> admitted_at_once(const std::string& policy) {
  const auto policies = loaded("policies: [{name: p, key: [path], " + policy + "}]\n");
  auto options = table_options(*policies);
  options.memory = 1 << 20;
  const auto table = store::Table::open(options).value();
  const Gate gate(policies, *table, table->secret(), {});
  const Instant now = table->now();
  std::array<std::uint64_t, 2> admitted{};
  std::atomic<int> ready{0};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < spellings.size(); ++i) {
    threads.emplace_back([&, i] {
      const FakeHeaders headers;
      policy::Request request;
      request.path = spellings[i];
      request.headers = &headers;
      DecisionContext context;
      std::uint64_t count = 0;
      ++ready;
      while (ready < 2) {  // so that both begin together
      }
      for (int denied = 0; denied < 20;) {
        gate.admit(request, now, DryRun::no, context);
        if (context.verdict.outcome == Outcome::denied) {
          ++denied;
        } else {
          ++count;
        }
      }
      admitted[i] = count;
    });
  }
  for (std::thread& thread : threads) thread.join();
  return admitted;
}

// As shares of the quota under which each is counted, both take one quota. 100 and 200 per 10 s
// come back in whole nanoseconds, 150 do not.
TEST(SpellingsRace, BothTakeOneQuota) {
  for (const std::uint64_t more : {150, 200}) {
    for (int i = 0; i < 100; ++i) {
      const auto [of_more, of_less] = admitted_at_once(
          "quota: 100, window: 10s, overrides: [{ids: [/a], quota: " + std::to_string(more) + "}]");
      const double used = static_cast<double>(of_more) / static_cast<double>(more) +
                          static_cast<double>(of_less) / 100;
      ASSERT_LE(used, 1.0001) << of_more << " of " << more << " and " << of_less << " of 100";
      ASSERT_GT(used, 0.98);
    }
  }
}

}  // namespace
}  // namespace headgate::gate
