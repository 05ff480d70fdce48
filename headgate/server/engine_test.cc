#include "headgate/server/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

#include "headgate/base/testing/temporary_directory.h"
#include "headgate/server/worker_context.h"

namespace headgate::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class EngineTest : public testing::Test {
 protected:
  void write(int quota, const std::string& table = "memory: 1MiB") {
    std::ofstream(config) << "version: 1\nstore: {table: {" << table << "}}\npolicies:\n"
                          << "  - {name: burst, quota: " << quota << ", window: 60s}\n";
  }

  const TemporaryDirectory directory;
  const std::string config = directory.file("headgate.yaml");
};

std::uint64_t left_after_one(WorkerContext& worker) {
  const gate::Check check{"burst", "a"};
  DecisionJob& job = *worker.begin();
  EXPECT_EQ(job.snapshot->gate().decide({&check, 1}, limit::Op::spend, worker.moment(job),
                                        job.decision, job.begin()),
            std::nullopt);
  EXPECT_TRUE(job.is_decided());
  return job.decision.results[0].decision.remaining;
}

TEST_F(EngineTest, AReloadChangesThePoliciesAndKeepsTheState) {
  write(3);
  const auto engine = Engine::open(config).value();
  WorkerContext worker(*engine);
  EXPECT_EQ(left_after_one(worker), 2u);
  write(5);
  ASSERT_TRUE(engine->reload());
  EXPECT_EQ(engine->reloads(), 1u);
  EXPECT_EQ(left_after_one(worker), 2u) << "20 s of debt and 12 s for this request, of 60 s";
}

TEST_F(EngineTest, AnotherTableIsRefused) {
  const std::string file = "file: table, ";
  write(3, file + "memory: 1MiB");
  const auto engine = Engine::open(config).value();
  WorkerContext worker(*engine);
  EXPECT_EQ(left_after_one(worker), 2u);
  std::uint64_t refused = 0;
  for (const auto& [table, words] :
       {std::pair(file + "memory: 65MiB",
                  "cannot get 68157440: it can grow to at most 67108864 bytes"),
        {"memory: 1MiB",
         "have 1048576 bytes of memory; expected the table that this server has, "
         "1048576 bytes in the file"},
        {"file: other, memory: 1MiB", "/other; expected"}}) {
    write(5, table);
    const auto reloaded = engine->reload();
    ASSERT_FALSE(reloaded) << table;
    EXPECT_THAT(reloaded.error(), ElementsAre(HasSubstr(words)));
    EXPECT_EQ(engine->refused_reloads(), ++refused);
  }
  EXPECT_EQ(left_after_one(worker), 1u) << "the policies in force stay";
  write(5, file + "memory: 1024KiB");
  EXPECT_TRUE(engine->reload());
}

// So that the former file of policies can be put in force again.
TEST_F(EngineTest, ATableInAFileMayBeLargerThanIsAskedFor) {
  write(3, "file: table, memory: 2MiB");
  std::uint64_t left = 3;
  for (int start = 0; start < 2; ++start) {
    const auto engine = Engine::open(config).value();
    WorkerContext worker(*engine);
    EXPECT_EQ(left_after_one(worker), --left);
    write(3, "file: table, memory: 1MiB");
    EXPECT_TRUE(engine->reload());
    EXPECT_EQ(engine->table().stats().memory, std::size_t{2} << 20);
  }
}

TEST_F(EngineTest, AnotherNameOfTheTablesFileIsTheSameTable) {
  write(3, "file: table, memory: 1MiB");
  const auto engine = Engine::open(config).value();
  WorkerContext worker(*engine);
  EXPECT_EQ(left_after_one(worker), 2u);
  std::filesystem::create_symlink("table", directory.file("link"));
  for (const char* const name : {"./table", "link"}) {
    write(3, std::string("memory: 1MiB, file: ") + name);
    EXPECT_TRUE(engine->reload()) << name;
  }
  write(3, "file: .//table, memory: 4MiB");
  ASSERT_TRUE(engine->reload());
  EXPECT_EQ(engine->table().stats().memory, std::size_t{4} << 20);
  EXPECT_EQ(left_after_one(worker), 1u);
}

TEST_F(EngineTest, AReloadMakesTheTableLarger) {
  for (const std::string file : {"", "file: table, "}) {
    write(3, file + "memory: 1MiB");
    const auto engine = Engine::open(config).value();
    WorkerContext worker(*engine);
    EXPECT_EQ(left_after_one(worker), 2u);
    write(3, file + "memory: 4MiB");
    ASSERT_TRUE(engine->reload());
    EXPECT_EQ(engine->table().stats().memory, std::size_t{4} << 20);
    EXPECT_EQ(left_after_one(worker), 1u) << "no quota is lost";
    write(3, file + "memory: 1MiB");
    EXPECT_EQ(engine->reload().has_value(), !file.empty());
  }
}

TEST_F(EngineTest, AReloadWithTheSameSizeSucceedsAlthoughAnotherProcessMadeTheTableLarger) {
  write(3, "file: table, memory: 1MiB");
  const auto engine = Engine::open(config).value();
  write(3, "file: table, memory: 4MiB");
  const auto other = Engine::open(config).value();
  write(5, "file: table, memory: 1MiB");
  ASSERT_TRUE(engine->reload());
  EXPECT_EQ(engine->table().stats().memory, std::size_t{4} << 20);
  write(5, "file: table, memory: 4MiB");
  EXPECT_TRUE(engine->reload());
}

TEST_F(EngineTest, ARefusedFileChangesNothing) {
  write(3);
  const auto engine = Engine::open(config).value();
  WorkerContext worker(*engine);
  std::ofstream(config) << "version: 1\npolicies: [{nmae: burst}]\n";
  const auto reloaded = engine->reload();
  ASSERT_FALSE(reloaded);
  EXPECT_THAT(reloaded.error().front(), HasSubstr(config + ":2:"));
  EXPECT_EQ(engine->reloads(), 0u);
  EXPECT_EQ(engine->refused_reloads(), 1u);
  EXPECT_EQ(left_after_one(worker), 2u);
}

TEST_F(EngineTest, NamesTheFaultsAtTheStart) {
  const auto missing = Engine::open(config);
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().front(), HasSubstr(config));
}

TEST_F(EngineTest, ListsItsWorkers) {
  write(3);
  const auto engine = Engine::open(config).value();
  const auto count = [&] {
    int workers = 0;
    engine->for_each_worker([&](const WorkerContext&) { ++workers; });
    return workers;
  };
  EXPECT_EQ(count(), 0);
  {
    const WorkerContext one(*engine);
    const WorkerContext two(*engine);
    EXPECT_EQ(count(), 2);
  }
  EXPECT_EQ(count(), 0);
}

std::uint64_t quota_of(WorkerContext& worker, const std::string& key) {
  std::string text;
  return worker.in_force().policies().named("burst", key, 1, text)->grant->quota.units;
}

class OverridesTest : public EngineTest {
 protected:
  std::unique_ptr<Engine> open() { return Engine::open(config, {.overrides_file = file}).value(); }

  const std::string file = directory.file("overrides");
  static constexpr std::uint64_t noon = 1'769'860'800;
};

TEST_F(OverridesTest, AnOverrideIsInForceAtOnceAndEndsInTime) {
  write(3);
  const auto engine = open();
  WorkerContext worker(*engine);
  const std::uint64_t reading = worker.in_force().reading();
  ASSERT_TRUE(engine->set_override({"burst", "10.0.0.2", 50, {}, noon, noon + 60}, noon));
  EXPECT_EQ(quota_of(worker, "10.0.0.2"), 50u);
  EXPECT_EQ(quota_of(worker, "10.0.0.3"), 3u);
  const std::uint64_t snapshot = worker.in_force().number();
  engine->follow_overrides(noon + 59);
  EXPECT_EQ(worker.in_force().number(), snapshot);
  EXPECT_EQ(quota_of(worker, "10.0.0.2"), 50u);
  engine->follow_overrides(noon + 60);
  EXPECT_EQ(quota_of(worker, "10.0.0.2"), 3u);
  EXPECT_EQ(worker.in_force().reading(), reading) << "the policy file was not read again";
  EXPECT_EQ(engine->reloads(), 0u);
}

TEST_F(OverridesTest, AReloadKeepsThem) {
  write(3);
  const auto engine = open();
  WorkerContext worker(*engine);
  ASSERT_TRUE(engine->set_override({"burst", "10.0.0.2", 50, {}, noon}, noon));
  write(5);
  ASSERT_TRUE(engine->reload());
  EXPECT_EQ(quota_of(worker, "10.0.0.2"), 50u);
  EXPECT_EQ(quota_of(worker, "10.0.0.3"), 5u);
  EXPECT_EQ(engine->reloads(), 1u);
}

TEST_F(OverridesTest, OtherEnginesFollow) {
  write(3);
  const auto engine = open();
  const auto other = open();
  WorkerContext worker(*other);
  ASSERT_TRUE(engine->set_override({"burst", "10.0.0.2", 50, {}, noon}, noon));
  other->follow_overrides(noon);
  EXPECT_EQ(quota_of(worker, "10.0.0.2"), 50u);
  const auto removed = other->remove_override("burst", "::ffff:10.0.0.2", noon);
  ASSERT_TRUE(removed);
  EXPECT_EQ((*removed)->key, "10.0.0.2");
  EXPECT_EQ(quota_of(worker, "10.0.0.2"), 3u);
  EXPECT_EQ(*other->remove_override("burst", "10.0.0.2", noon), std::nullopt);
}

TEST_F(OverridesTest, WithoutAFileOrAPolicyThereIsNone) {
  write(3);
  const auto engine = Engine::open(config).value();
  EXPECT_EQ(engine->set_override({"burst", "10.0.0.2", 50}, noon).error().reason,
            policy::OverrideRefusal::Reason::no_file);
  EXPECT_EQ(open()->set_override({"brust", "10.0.0.2", 50}, noon).error().reason,
            policy::OverrideRefusal::Reason::unfit);
  EXPECT_FALSE(std::filesystem::exists(file));
}

}  // namespace
}  // namespace headgate::server
