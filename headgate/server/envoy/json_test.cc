#include "headgate/server/envoy/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "headgate/server/testing/open_engine.h"
#include "headgate/server/worker_context.h"

namespace headgate::server {
namespace {

using ::testing::HasSubstr;

class LateJsonTest : public ::testing::Test {
 protected:
  LateJsonTest() {
    const std::string name = "headgate_domain_" + std::to_string(getpid()) + ".yaml";
    const std::filesystem::path file = std::filesystem::path(::testing::TempDir()) / name;
    std::ofstream(file) << "domain: d\ndescriptors:\n"
                           "- {key: a, rate_limit: {unit: day, requests_per_unit: 5}}\n";
    engine_ = open_late_engine("envoy: [" + name + "]");
    std::filesystem::remove(file);
    worker_.emplace(*engine_);
  }

  // Asks for a decision of one descriptor. `limit`: that it brings, as JSON, with a comma in front.
  std::optional<Content> ask(const std::string& value, const std::string& limit = "") {
    const std::string body = R"({"domain":"d","descriptors":[{"entries":[{"key":"a","value":")" +
                             value + "\"}]" + limit + "}]}";
    return handler_.begin(*worker_, body, *worker_->begin());
  }

  std::unique_ptr<Engine> engine_;
  std::optional<WorkerContext> worker_;
  const FormHandler handler_ = envoy_json();
};

TEST_F(LateJsonTest, LimitsThatComeWithARequestLastUntilItsAnswer) {
  ASSERT_FALSE(ask("x", R"(,"limit":{"requestsPerUnit":3,"unit":"DAY"})"));
  const auto first = worker_->lend({});
  ASSERT_FALSE(ask("y", R"(,"limit":{"requestsPerUnit":7,"unit":"HOUR"})"));
  const auto second = worker_->lend({});
  ASSERT_FALSE(ask("z"));
  const auto third = worker_->lend({});
  late_store(*engine_).complete_all();
  const auto text = [&](const Job::Held<DecisionJob>& job) {
    const Content page = handler_.finish(*worker_, *job);
    EXPECT_EQ(page.status, 200u);
    return page.body;
  };
  EXPECT_THAT(text(first), HasSubstr(R"("requestsPerUnit":3,"unit":"DAY")"));
  EXPECT_THAT(text(first), HasSubstr(R"("limitRemaining":2)"));
  EXPECT_THAT(text(second), HasSubstr(R"("requestsPerUnit":7,"unit":"HOUR")"));
  EXPECT_THAT(text(second), HasSubstr(R"("limitRemaining":6)"));
  EXPECT_THAT(text(third), HasSubstr(R"("requestsPerUnit":5,"unit":"DAY")"));
}

TEST_F(LateJsonTest, AFaultIsAnsweredAtOnce) {
  const auto page = handler_.begin(*worker_, "{", *worker_->begin());
  ASSERT_TRUE(page);
  EXPECT_EQ(page->status, 400u);
  EXPECT_EQ(late_store(*engine_).outstanding(), 0u);
}

}  // namespace
}  // namespace headgate::server
