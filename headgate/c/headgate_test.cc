#include "headgate/headgate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "headgate/base/testing/temporary_directory.h"

namespace {

using testing::HasSubstr;

class HeadgateC : public testing::Test {
 protected:
  ~HeadgateC() override {
    headgate_decision_free(decision);
    headgate_close(gate);
  }

  void write(const std::string& policies) {
    std::ofstream(config) << "version: 1\nstore: {table: {memory: 1MiB}}\npolicies:\n" << policies;
  }
  void open(const std::string& policies) {
    write(policies);
    gate = headgate_open(config.c_str(), words, sizeof words);
    ASSERT_NE(gate, nullptr) << words;
  }
  headgate_outcome decide(const char* policy, std::uint64_t cost = 1,
                          headgate_op op = HEADGATE_SPEND) {
    const headgate_check check{policy, "alice", 5, cost};
    return headgate_decide(gate, decision, &check, 1, op, &result);
  }
  std::map<std::string, std::string> fields() const {
    std::map<std::string, std::string> all;
    headgate_fields(
        decision,
        [](void* context, const char* name, std::size_t name_size, const char* value,
           std::size_t value_size) {
          (*static_cast<std::map<std::string, std::string>*>(
              context))[std::string(name, name_size)] = std::string(value, value_size);
        },
        &all);
    return all;
  }
  std::string problem() const {
    char text[512];
    return {text, headgate_problem(decision, text, sizeof text)};
  }

  const headgate::TemporaryDirectory directory;
  const std::string config = directory.file("headgate.yaml");
  char words[256] = "";
  headgate_gate* gate = nullptr;
  headgate_decision* decision = headgate_decision_new();
  headgate_result result{};
};

TEST_F(HeadgateC, DecidesAndWritesTheFields) {
  open("  - {name: burst, quota: 2, window: 60s}\n");
  EXPECT_EQ(decide("burst"), HEADGATE_ADMITTED);
  EXPECT_EQ(result.quota, 2u);
  EXPECT_EQ(result.remaining, 1u);
  EXPECT_EQ(result.reset_s, 30);
  EXPECT_EQ(result.wait_ns, 0);
  EXPECT_THAT(fields(),
              testing::ElementsAre(testing::Pair("RateLimit", R"("burst";r=1;t=30)"),
                                   testing::Pair("RateLimit-Policy", R"("burst";q=2;w=60)")));
  EXPECT_EQ(problem(), "") << "nothing was denied";
  EXPECT_EQ(decide("burst", 2), HEADGATE_DENIED);
  EXPECT_GT(result.wait_ns, 29'000'000'000);
  EXPECT_EQ(headgate_status(decision), 429u);
  EXPECT_EQ(headgate_retry_after(decision), 30);
  EXPECT_EQ(fields().at("Retry-After"), "30");
  EXPECT_THAT(problem(), HasSubstr(R"("violated-policies":["burst"])"));
  char small[8];
  EXPECT_EQ(headgate_problem(decision, small, sizeof small), 0u) << "does not fit";
  EXPECT_EQ(decide("burst", 3), HEADGATE_DENIED);
  EXPECT_EQ(result.wait_ns, -1) << "more than the quota";
  EXPECT_EQ(headgate_retry_after(decision), -1);
  EXPECT_EQ(decide("burst", 1, HEADGATE_REFUND), HEADGATE_ADMITTED);
  EXPECT_EQ(decide("burst", 2, HEADGATE_PEEK), HEADGATE_ADMITTED);
}

TEST_F(HeadgateC, DecidesRequests) {
  open(R"(  - {name: plan, quota: 1, window: 60s, key: ["header:x-user"], match: [{path: "/v1/*"}]}
)");
  struct Call {
    std::string user;
    static const char* header(void* context, const char* name, std::size_t nth, std::size_t* size) {
      if (std::strcmp(name, "x-user") != 0 || nth > 0) return nullptr;
      const std::string& value = static_cast<Call*>(context)->user;
      *size = value.size();
      return value.data();
    }
  };
  const auto admit = [&](std::string user, std::string path) {
    Call call{std::move(user)};
    headgate_request request{};
    request.method = "GET";
    request.method_size = 3;
    request.path = path.data();
    request.path_size = path.size();
    request.peer = "192.0.2.1";
    request.body_bytes = -1;
    request.header = &Call::header;
    request.context = &call;
    return headgate_admit(gate, decision, &request);
  };
  EXPECT_EQ(admit("a", "/v1/x"), HEADGATE_ADMITTED);
  EXPECT_EQ(admit("a", "/v1/y"), HEADGATE_DENIED);
  EXPECT_EQ(admit("b", "/v1/y"), HEADGATE_ADMITTED);
  EXPECT_EQ(admit("a", "/other"), HEADGATE_OFF);
  headgate_request request{};
  request.peer = "nowhere";
  EXPECT_EQ(headgate_admit(gate, decision, &request), HEADGATE_BAD_ADDRESS);
}

// Also by a decision whose caller was told before how long to wait.
TEST_F(HeadgateC, ARequestThatWouldHaveToWaitIsDenied) {
  open("  - {name: pace, quota: 1, window: 20s, delay: 30s, key: [host]}\n");
  const headgate_check check{"pace", "alice", 5, 1};
  for (const bool waits : {false, true}) {
    EXPECT_EQ(headgate_decide(gate, decision, &check, 1, HEADGATE_SPEND, &result),
              HEADGATE_ADMITTED);
    EXPECT_EQ(result.wait_ns > 0, waits);
  }
  headgate_request request{};
  request.host = "alice";
  request.host_size = 5;
  request.body_bytes = -1;
  EXPECT_EQ(headgate_admit(gate, decision, &request), HEADGATE_DENIED);
  request.host = "b";
  request.host_size = 1;
  EXPECT_EQ(headgate_admit(gate, decision, &request), HEADGATE_ADMITTED);
  EXPECT_EQ(headgate_admit(gate, decision, &request), HEADGATE_DENIED);
  EXPECT_EQ(headgate_retry_after(decision), 20);
}

TEST_F(HeadgateC, SettlesOnce) {
  open("  - {name: slots, quota: 1, algorithm: concurrency, key: []}\n");
  headgate_request request{};
  request.body_bytes = -1;
  EXPECT_EQ(headgate_admit(gate, decision, &request), HEADGATE_ADMITTED);
  headgate_decision* other = headgate_decision_new();
  EXPECT_EQ(headgate_admit(gate, other, &request), HEADGATE_DENIED);
  headgate_settle(gate, decision, 200, 0, nullptr, nullptr);
  EXPECT_EQ(headgate_admit(gate, other, &request), HEADGATE_ADMITTED);
  headgate_settle(gate, decision, 200, 0, nullptr, nullptr);  // has nothing left to release
  EXPECT_EQ(headgate_admit(gate, decision, &request), HEADGATE_DENIED);
  headgate_decision_free(other);
}

TEST_F(HeadgateC, AReloadKeepsTheStateAndAFailedOneChangesNothing) {
  open("  - {name: burst, quota: 1, window: 60s}\n");
  EXPECT_EQ(decide("burst"), HEADGATE_ADMITTED);
  write("  - {name: burst, quota: 1, window: 60s}\n  - {name: daily, quota: 5, window: 1d}\n");
  EXPECT_EQ(headgate_reload(gate, words, sizeof words), 0) << words;
  EXPECT_EQ(decide("burst"), HEADGATE_DENIED);
  EXPECT_EQ(decide("daily"), HEADGATE_ADMITTED);
  write("  - {nmae: burst}\n");
  EXPECT_EQ(headgate_reload(gate, words, sizeof words), -1);
  EXPECT_THAT(words, HasSubstr(config + ":4:"));
  EXPECT_EQ(decide("daily"), HEADGATE_ADMITTED);
}

TEST_F(HeadgateC, AReloadMakesTheTableGrowAndRefusesAnother) {
  const std::string policies = "policies: [{name: burst, quota: 2, window: 60s}]\n";
  const auto store = [&](const std::string& table) {
    std::ofstream(config) << "version: 1\nstore: {table: {" << table << "}}\n" << policies;
  };
  store("memory: 1MiB");
  gate = headgate_open(config.c_str(), words, sizeof words);
  ASSERT_NE(gate, nullptr) << words;
  EXPECT_EQ(decide("burst"), HEADGATE_ADMITTED);
  store("memory: 2MiB");
  EXPECT_EQ(headgate_reload(gate, words, sizeof words), 0) << words;
  EXPECT_EQ(decide("burst"), HEADGATE_ADMITTED);
  EXPECT_EQ(decide("burst"), HEADGATE_DENIED) << "the state was kept";
  for (const char* table : {"memory: 1MiB", "memory: 2MiB, file: table"}) {
    store(table);
    EXPECT_EQ(headgate_reload(gate, words, sizeof words), -1) << table;
    EXPECT_THAT(words, HasSubstr("expected the table that this gate has, 2097152 bytes of memory"));
  }
  store("memory: 65MiB");
  EXPECT_EQ(headgate_reload(gate, words, sizeof words), -1);
  EXPECT_THAT(words, HasSubstr("it can grow to at most 67108864 bytes"));
  EXPECT_EQ(decide("burst"), HEADGATE_DENIED);
}

// A thread that holds a lock during a fork is not in the child, where nobody would release it.
TEST_F(HeadgateC, AChildThatIsForkedWhileAnotherThreadReloadsDecidesAndReloads) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizers' own allocators cannot be used in such a child";
#endif
  open("  - {name: burst, quota: 30, window: 1d}\n");
  std::atomic<bool> stop = false;
  std::thread reloads([&] {
    while (!stop) EXPECT_EQ(headgate_reload(gate, words, sizeof words), 0) << words;
  });
  for (int i = 0; i < 30; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      alarm(10);
      const bool good =
          decide("burst") == HEADGATE_ADMITTED && headgate_reload(gate, nullptr, 0) == 0;
      _exit(good ? 0 : 1);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << "of child " << i;
  }
  stop = true;
  reloads.join();
  EXPECT_EQ(decide("burst"), HEADGATE_DENIED) << "all of them share the table";
}

TEST_F(HeadgateC, RedisIsRefusedBecauseCallsDoNotWait) {
  std::ofstream(config) << "version: 1\nstore: {redis: {nodes: [a:1]}}\npolicies: []\n";
  EXPECT_EQ(headgate_open(config.c_str(), words, sizeof words), nullptr);
  EXPECT_EQ(words, config +
                       ": store: redis is not available in the library, whose calls do not wait; "
                       "expected store: table");
  open("  - {name: burst, quota: 3, window: 1h}\n");
  std::ofstream(config) << "version: 1\nstore: {redis: {nodes: [a:1]}}\npolicies: []\n";
  EXPECT_EQ(headgate_reload(gate, words, sizeof words), -1);
  EXPECT_THAT(words, HasSubstr("store: redis"));
}

TEST_F(HeadgateC, AReloadLeavesADecisionThePoliciesThatMadeIt) {
  open("  - {name: slots, quota: 1, algorithm: concurrency, key: []}\n");
  headgate_request request{};
  EXPECT_EQ(headgate_admit(gate, decision, &request), HEADGATE_ADMITTED);
  write("  - {name: other, quota: 1, window: 60s}\n");
  EXPECT_EQ(headgate_reload(gate, words, sizeof words), 0) << words;
  EXPECT_EQ(fields().count("RateLimit"), 1u);
  headgate_settle(gate, decision, 200, 0, nullptr, nullptr);
}

TEST_F(HeadgateC, ReportsErrors) {
  write("  - {name: burst, quota: 1}\n");
  EXPECT_EQ(headgate_open(config.c_str(), words, sizeof words), nullptr);
  EXPECT_THAT(words, HasSubstr(config + ":4:"));
  char small[10];
  EXPECT_EQ(headgate_open(config.c_str(), small, sizeof small), nullptr);
  EXPECT_EQ(std::strlen(small), sizeof small - 1);
  EXPECT_EQ(headgate_open("/nonexistent", nullptr, 0), nullptr);
  open("  - {name: burst, quota: 1, window: 60s}\n");
  EXPECT_EQ(decide("brust"), HEADGATE_UNKNOWN_POLICY);
  EXPECT_TRUE(fields().empty()) << "nothing was decided";
  const headgate_check twice[2] = {{"burst", "a", 1, 1}, {"burst", "a", 1, 1}};
  EXPECT_EQ(headgate_decide(gate, decision, twice, 2, HEADGATE_SPEND, nullptr),
            HEADGATE_ASKED_TWICE);
  const std::vector<headgate_check> many(129, {"burst", "a", 1, 1});
  headgate_request request{};
  request.peer = "nowhere";
  for (const headgate_outcome error : {HEADGATE_TOO_MANY, HEADGATE_BAD_ADDRESS}) {
    decide("burst");
    EXPECT_EQ(decide("burst"), HEADGATE_DENIED);
    EXPECT_FALSE(fields().empty());
    EXPECT_EQ(error == HEADGATE_TOO_MANY ? headgate_decide(gate, decision, many.data(), many.size(),
                                                           HEADGATE_SPEND, nullptr)
                                         : headgate_admit(gate, decision, &request),
              error);
    EXPECT_TRUE(fields().empty()) << "not those of the request before";
    EXPECT_EQ(problem(), "");
    EXPECT_EQ(headgate_retry_after(decision), -1);
  }
  EXPECT_STRNE(headgate_version(), "");
}

class HeadgateCReserves : public HeadgateC {
 protected:
  headgate_outcome reserve(const char* policy, std::uint64_t cost = HEADGATE_RESERVE) {
    const headgate_check check{policy, "alice", 5, cost};
    return headgate_reserve(gate, decision, &check, 1, &result);
  }
  int settle(const char* policy, std::uint64_t cost) {
    const headgate_cost needed{policy, cost};
    return headgate_settle_reserved(gate, decision, &needed, 1);
  }
  std::uint64_t left(const char* policy) {
    headgate_decision* another = headgate_decision_new();
    const headgate_check check{policy, "alice", 5, 0};
    headgate_decide(gate, another, &check, 1, HEADGATE_PEEK, &result);
    headgate_decision_free(another);
    return result.remaining;
  }
};

TEST_F(HeadgateCReserves, WhatIsTakenIsCorrectedOnce) {
  open(
      "  - {name: tokens, quota: 1000, window: 1d, cost: {reserve: 100, settle: {response-header: "
      "x}}}\n"
      "  - {name: other, quota: 10, window: 1d}\n");
  EXPECT_EQ(settle("tokens", 1), 0) << "nothing was reserved";
  EXPECT_EQ(reserve("tokens"), HEADGATE_ADMITTED);
  EXPECT_EQ(left("tokens"), 900u);
  EXPECT_EQ(settle("toknes", 1), HEADGATE_UNKNOWN_POLICY);
  EXPECT_EQ(settle("tokens", 30), 1);
  EXPECT_EQ(left("tokens"), 970u);
  EXPECT_EQ(settle("tokens", 0), 0) << "it was settled before";
  EXPECT_EQ(left("tokens"), 970u);

  EXPECT_EQ(reserve("tokens", 70), HEADGATE_ADMITTED);
  EXPECT_EQ(settle("tokens", 200), 1) << "more than was reserved";
  EXPECT_EQ(left("tokens"), 770u);

  EXPECT_EQ(reserve("tokens"), HEADGATE_ADMITTED);
  EXPECT_EQ(headgate_settle_reserved(gate, decision, nullptr, 0), 1);
  EXPECT_EQ(left("tokens"), 670u) << "without a cost it stays charged";
  EXPECT_EQ(reserve("tokens", 671), HEADGATE_DENIED);
  EXPECT_EQ(settle("tokens", 0), 0);
  EXPECT_EQ(left("tokens"), 670u);
}

// The caller cannot know whether a policy in shadow mode would have denied.
TEST_F(HeadgateCReserves, TheCostOfAPolicyThatTookNothingIsIgnored) {
  open(
      "  - {name: shadow, quota: 1, window: 1d, mode: shadow}\n"
      "  - {name: tokens, quota: 10, window: 1d}\n");
  const headgate_check checks[] = {{"shadow", "alice", 5, 2}, {"tokens", "alice", 5, 2}};
  ASSERT_EQ(headgate_reserve(gate, decision, checks, 2, nullptr), HEADGATE_SHADOW_DENIED);
  const headgate_cost costs[] = {{"shadow", 5}, {"tokens", 5}};
  EXPECT_EQ(headgate_settle_reserved(gate, decision, costs, 2), 1);
  EXPECT_EQ(left("tokens"), 5u);
}

// More than the table has places.
TEST_F(HeadgateCReserves, WhatIsSettledTakesNoPlaceOfATable) {
  open("  - {name: tokens, quota: 1000, window: 1d}\n");
  for (int i = 0; i < 70'000; ++i) {
    ASSERT_EQ(reserve("tokens", 100), HEADGATE_ADMITTED) << i;
    ASSERT_EQ(settle("tokens", 0), 1) << i;
  }
  EXPECT_EQ(left("tokens"), 1000u);
}

TEST_F(HeadgateCReserves, AReloadMayComeBetween) {
  const std::string policies = "  - {name: tokens, quota: 1000, window: 1d}\n";
  open(policies);
  EXPECT_EQ(reserve("tokens", 100), HEADGATE_ADMITTED);
  write("  - {name: another, quota: 5, window: 1d}\n");
  ASSERT_EQ(headgate_reload(gate, words, sizeof words), 0) << words;
  EXPECT_EQ(settle("tokens", 10), 1);
  write(policies);
  ASSERT_EQ(headgate_reload(gate, words, sizeof words), 0) << words;
  EXPECT_EQ(left("tokens"), 990u);
}

TEST_F(HeadgateCReserves, ACandidateIsCorrectedWithItsPolicy) {
  for (const char* share : {"0%", "100%"}) {
    const std::string policy = "tokens" + std::string(share, 1);
    open("  - {name: " + policy +
         ", quota: 1000, window: 1d, candidate: {quota: 500, share: " + share + "}}\n");
    EXPECT_EQ(reserve(policy.c_str(), 100), HEADGATE_ADMITTED);
    EXPECT_EQ(settle(policy.c_str(), 30), 1);
    EXPECT_EQ(left(policy.c_str()), *share == '0' ? 970u : 470u);
    EXPECT_EQ(left((policy + " (candidate)").c_str()), 470u);
    headgate_close(std::exchange(gate, nullptr));
  }
}

TEST_F(HeadgateCReserves, EstimatesLearn) {
  const std::string policies =
      "  - {name: tokens, quota: 100000, window: 1d, cost: {reserve: {estimate: 90%}, "
      "settle: {response-header: x}}}\n";
  open(policies);
  EXPECT_EQ(reserve("tokens"), HEADGATE_ADMITTED);
  EXPECT_EQ(left("tokens"), 99'000u);
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(settle("tokens", 10), 1);
    EXPECT_EQ(reserve("tokens"), HEADGATE_ADMITTED);
  }
  EXPECT_EQ(settle("tokens", 0), 1);
  const std::uint64_t before = left("tokens");
  EXPECT_EQ(reserve("tokens"), HEADGATE_ADMITTED);
  const std::uint64_t learnt = before - left("tokens");
  EXPECT_LT(learnt, 20u);

  const std::string other = "  - {name: other, quota: 1, window: 1d}\n";
  for (const std::string& reloaded : {policies + other, other + policies}) {
    write(reloaded);
    ASSERT_EQ(headgate_reload(gate, words, sizeof words), 0) << words;
  }
  const std::uint64_t then = left("tokens");
  EXPECT_EQ(reserve("tokens"), HEADGATE_ADMITTED);
  EXPECT_EQ(then - left("tokens"), learnt) << "also after a reload";
}

}  // namespace
