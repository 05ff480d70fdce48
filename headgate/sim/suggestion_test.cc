#include "headgate/sim/suggestion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "headgate/limit/testing/key_state.h"
#include "headgate/policy/file/load.h"
#include "headgate/sim/testing/traffic_of.h"

namespace headgate::sim {
namespace {

constexpr Share all{1'000'000};

std::shared_ptr<const policy::PolicySet> load(const std::string& policies) {
  auto loaded = policy::load_text("version: 1\npolicies:\n" + policies, "test.yaml");
  if (!loaded) throw std::runtime_error(loaded.error().front().text());
  return *loaded;
}

struct Suggested {
  std::shared_ptr<const policy::PolicySet> policies;
  Suggestion suggestion;
  std::uint64_t requests_replayed = 0;
};

Suggested suggested(const std::string& policies, const std::string& log, Share share = all,
                    std::size_t policy = 0) {
  Suggested result;
  result.policies = load(policies);
  Traffic traffic(result.policies->fields_used());
  read_log(traffic, log);
  traffic.finish();
  auto suggestion = suggest(result.policies, policy, share, traffic, std::size_t{8} << 20,
                            [&](std::uint64_t) { ++result.requests_replayed; });
  EXPECT_TRUE(suggestion) << suggestion.error();
  if (suggestion) result.suggestion = *suggestion;
  EXPECT_EQ(result.suggestion.unkept, 0u);
  return result;
}

constexpr char per_address[] = "  - {name: p, quota: 3, window: 10s}\n";

std::string repeated(int count, const std::string& line) {
  std::string out;
  for (int i = 0; i < count; ++i) out += line + '\n';
  return out;
}

TEST(Suggestion, IsTheLeastQuotaThatDeniesNoneOfTheShare) {
  // Three clients, with 40, 7 and 1 requests in one moment.
  const std::string log =
      repeated(40, "1 0 10.0.0.1") + repeated(7, "1 0 10.0.0.2") + "1 0 10.0.0.3\n";
  const auto [policies, whole, replayed] = suggested(per_address, log);
  EXPECT_EQ(whole.policy, policies->policies().data());
  EXPECT_EQ(whole.for_partitions->quota, 40u);
  EXPECT_EQ(whole.for_partitions->partitions, 3u);
  EXPECT_EQ(whole.for_partitions->partitions_denied, 0u);
  EXPECT_EQ(whole.for_requests->quota, 40u);
  EXPECT_EQ(whole.now.quota, 3u);
  EXPECT_EQ(whole.now.partitions_denied, 2u);
  EXPECT_EQ(whole.now.requests, 48u);
  EXPECT_EQ(whole.now.requests_denied, 41u);
  EXPECT_GT(replayed, 48u) << "one pass is not enough";
  EXPECT_EQ(replayed % 48, 0u);

  const Suggestion two_thirds = suggested(per_address, log, {600'000}).suggestion;
  EXPECT_EQ(two_thirds.for_partitions->quota, 7u);
  EXPECT_EQ(two_thirds.for_partitions->partitions_denied, 1u);
  EXPECT_EQ(two_thirds.for_requests->quota, 21u);  // 28.8 of 48: 21 + 7 + 1
  EXPECT_EQ(two_thirds.for_requests->requests_denied, 19u);
}

TEST(Suggestion, AgreesWithTryingEveryQuota) {
  std::mt19937 random(7);
  for (int round = 0; round < 10; ++round) {
    std::map<std::string, std::vector<std::int64_t>> times;  // [s], by client
    std::vector<std::pair<std::int64_t, std::string>> requests;
    for (int i = 0; i < 60; ++i) {
      requests.emplace_back(random() % 30, "10.0.0." + std::to_string(random() % (round + 1)));
    }
    std::sort(requests.begin(), requests.end());
    std::string log;
    for (const auto& [at, client] : requests) {
      times[client].push_back(at);
      log += std::to_string(at) + " 0 " + client + '\n';
    }
    const Share share{static_cast<std::uint32_t>(1 + random() % 1'000'000)};
    std::optional<std::uint64_t> for_partitions;
    std::optional<std::uint64_t> for_requests;
    for (std::uint64_t quota = 1; quota <= 60; ++quota) {
      const limit::Law law = limit::make_law({quota, 10 * nanos_per_second}, {}).value();
      std::set<std::string> denied_clients;
      std::uint64_t denied = 0;
      for (const auto& [client, moments] : times) {
        limit::KeyState key;
        for (const std::int64_t at : moments) {
          if (key.spend(law, 1, {at * nanos_per_second}).admitted) continue;
          ++denied;
          denied_clients.insert(client);
        }
      }
      if (!for_partitions && share.reached(times.size() - denied_clients.size(), times.size())) {
        for_partitions = quota;
      }
      if (!for_requests && share.reached(requests.size() - denied, requests.size())) {
        for_requests = quota;
      }
    }
    const Suggestion suggestion = suggested(per_address, log, share).suggestion;
    SCOPED_TRACE(share.text() + " of\n" + log);
    ASSERT_TRUE(suggestion.for_partitions && suggestion.for_requests);
    EXPECT_EQ(suggestion.for_partitions->quota, for_partitions);
    EXPECT_EQ(suggestion.for_requests->quota, for_requests);
  }
}

TEST(Suggestion, IsOneWithoutRequests) {
  const Suggestion suggestion = suggested(per_address, "").suggestion;
  EXPECT_EQ(suggestion.for_partitions->quota, 1u);
  EXPECT_EQ(suggestion.for_requests->quota, 1u);
  EXPECT_EQ(suggestion.now.requests, 0u);
}

TEST(Suggestion, IsAbsentIfACostIsAboveEveryQuota) {
  const std::string cost = std::to_string(limit::Quota::cost_max);
  const std::string log = "1 0 10.0.0.1 bytes=" + cost + "\n1 0 10.0.0.2 bytes=9\n";
  const auto [policies, suggestion, replayed] =
      suggested("  - {name: bytes, quota: 5, window: 10s, cost: request-bytes}\n", log);
  EXPECT_EQ(suggestion.for_partitions, std::nullopt);
  EXPECT_EQ(suggestion.for_requests, std::nullopt);
  EXPECT_THAT(suggestion_text(suggestion, all),
              ::testing::HasSubstr("  no quota leaves 100 % of the partitions untouched\n"));
}

TEST(Suggestion, UsesThePolicyAsIfItWereTheOnlyOne) {
  const std::string policies =
      "  - {name: tight, quota: 1, window: 1h}\n" + std::string(per_address);
  const auto [loaded, suggestion, replayed] =
      suggested(policies, repeated(9, "1 0 10.0.0.1"), all, 1);
  EXPECT_EQ(suggestion.policy->name, "p");
  EXPECT_EQ(suggestion.for_requests->quota, 9u);
  EXPECT_EQ(suggestion.now.requests_denied, 6u);
}

TEST(Suggestion, CountsWhatRunsAtOnceIfThePolicyDoes) {
  // From 0 to 10, from 1 to 9, from 2 to 8, then from 11 to 12.
  const std::string log = "10 10 10.0.0.1\n9 8 10.0.0.1\n8 6 10.0.0.1\n12 1 10.0.0.1\n";
  const auto [policies, suggestion, replayed] =
      suggested("  - {name: slots, quota: 1, algorithm: concurrency}\n", log);
  EXPECT_EQ(suggestion.for_requests->quota, 3u);
  EXPECT_EQ(suggestion.now.requests_denied, 2u);
  EXPECT_THAT(suggestion_text(suggestion, all), ::testing::StartsWith("policy \"slots\":\n"));
}

TEST(Suggestion, IsWrittenForPeopleAndAsJson) {
  const std::string log = repeated(1200, "1 0 10.0.0.1") + "1 0 10.0.0.2\n";
  const auto [policies, suggestion, replayed] = suggested(per_address, log, {500'000});
  EXPECT_EQ(suggestion_text(suggestion, {500'000}),
            R"(policy "p", in a window of 10 s:
  quota 1 leaves 50 % of the 2 partitions untouched: 1 would be denied
  quota 600 leaves 50 % of the 1,201 requests untouched: 600 would be denied
  quota 3 is what it has: 1 partitions, 1,197 requests denied
)");
  EXPECT_EQ(suggestion_json(suggestion, {500'000}),
            R"({"policy":"p","share":0.5,)"
            R"("for_partitions":{"quota":1,"partitions":2,"partitions_denied":1,)"
            R"("requests":1201,"requests_denied":1199},)"
            R"("for_requests":{"quota":600,"partitions":2,"partitions_denied":1,)"
            R"("requests":1201,"requests_denied":600},)"
            R"("now":{"quota":3,"partitions":2,"partitions_denied":1,)"
            R"("requests":1201,"requests_denied":1197}})");
}

TEST(Share, ReadsPercentWithUpToFourDecimals) {
  const auto millionths = [](std::string_view text) {
    const auto share = Share::parse(text);
    return share ? share->millionths : 0;
  };
  EXPECT_EQ(millionths("99.9%"), 999'000u);
  EXPECT_EQ(millionths("99.9 %"), 999'000u);
  EXPECT_EQ(millionths("99.9999"), 999'999u);
  EXPECT_EQ(millionths("100"), 1'000'000u);
  EXPECT_EQ(millionths("100.0000%"), 1'000'000u);
  EXPECT_EQ(millionths("0.0001"), 1u);
  for (const std::string_view bad : {"", "%", "0", "0.0", "100.0001", "101", "1000", "-1", "1.",
                                     ".5", "1.00001", "1.x", "x", "1e1", "50%%", "1 0"}) {
    EXPECT_FALSE(Share::parse(bad)) << bad;
  }
}

TEST(Share, IsWrittenAsItIsRead) {
  for (const auto& [millionths, text] : std::map<std::uint32_t, std::string>{
           {1, "0.0001 %"}, {10'000, "1 %"}, {999'000, "99.9 %"}, {1'000'000, "100 %"}}) {
    EXPECT_EQ(Share{millionths}.text(), text);
    EXPECT_EQ(Share::parse(text)->millionths, millionths);
  }
}

TEST(Share, IsReachedExactly) {
  EXPECT_TRUE(Share{500'000}.reached(1, 2));
  EXPECT_FALSE(Share{500'001}.reached(1, 2));
  EXPECT_TRUE(Share{1}.reached(0, 0));
  EXPECT_FALSE(all.reached(~std::uint64_t{0} - 1, ~std::uint64_t{0}));
  EXPECT_TRUE(all.reached(~std::uint64_t{0}, ~std::uint64_t{0}));
}

}  // namespace
}  // namespace headgate::sim
