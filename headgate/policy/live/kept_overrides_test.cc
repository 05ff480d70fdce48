#include "headgate/policy/live/kept_overrides.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>

#include "headgate/base/testing/temporary_directory.h"
#include "headgate/policy/file/load.h"
#include "headgate/policy/policy_set.h"

namespace headgate::policy {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::uint64_t noon = 1'769'860'800;

// As long as it lives, this process cannot open a file.
class NoDescriptors {
 public:
  NoDescriptors() {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit none{0, before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
  }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;
  ~NoDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

class KeptOverridesTest : public testing::Test {
 protected:
  [[nodiscard]] KeptOverrides open(std::uint64_t now = noon) const {
    KeptOverrides made(path, "there is no file");
    EXPECT_TRUE(made.open(now));
    return made;
  }
  void write(const std::string& text) const {
    std::ofstream(path + ".next") << text;
    std::rename((path + ".next").c_str(), path.c_str());
  }

  const TemporaryDirectory directory;
  const std::string path = directory.file("overrides");
  const std::shared_ptr<const PolicySet> policies =
      load_text("version: 1\npolicies: [{name: burst, quota: 3, window: 60s}]\n", "p.yaml").value();
};

TEST_F(KeptOverridesTest, OthersFollowAndEachChangeCounts) {
  KeptOverrides one = open();
  KeptOverrides other = open();
  EXPECT_EQ(other.changes(), 0u);
  ASSERT_TRUE(one.set(*policies, {"burst", "10.0.0.2", 50}, noon));
  EXPECT_EQ(one.changes(), 1u);
  EXPECT_THAT(one.follow(noon).lines, IsEmpty()) << "its own change is no news";
  EXPECT_THAT(other.follow(noon).lines,
              ElementsAre(path + " was changed by another process; overrides now: 1"));
  EXPECT_EQ(other.all(), one.all());
  EXPECT_EQ(other.changes(), 1u);
  EXPECT_THAT(other.follow(noon).lines, IsEmpty());
  EXPECT_EQ(other.remove(*policies, "burst", "::ffff:10.0.0.2", noon).value()->quota, 50u);
  EXPECT_EQ(other.remove(*policies, "burst", "10.0.0.2", noon).value(), std::nullopt);
  EXPECT_EQ(other.changes(), 2u);
}

TEST_F(KeptOverridesTest, OnePartitionHasOneInWhicheverSpelling) {
  const auto pages = load_text(R"(version: 1
policies:
  - {name: pages, quota: 5, window: 1m, key: [path], overrides: [{ids: [/Admin], quota: 100, window: 1h}]}
)",
                               "p.yaml")
                         .value();
  KeptOverrides kept = open();
  ASSERT_TRUE(kept.set(*pages, {"pages", "/Admin", 7}, noon));
  ASSERT_TRUE(kept.set(*pages, {"pages", "/admin", 9}, noon));
  EXPECT_THAT(kept.all(), SizeIs(1));
  EXPECT_EQ(kept.remove(*pages, "pages", "/ADMIN", noon).value()->quota, 9u);
}

TEST_F(KeptOverridesTest, TheyEnd) {
  KeptOverrides kept = open();
  ASSERT_TRUE(kept.set(*policies, {"burst", "10.0.0.2", 50, {}, noon, noon + 2}, noon));
  EXPECT_THAT(kept.follow(noon + 1).lines, IsEmpty());
  EXPECT_THAT(kept.follow(noon + 2).lines,
              ElementsAre(HasSubstr("an override has ended: {\"policy\":\"burst\"")));
  EXPECT_THAT(kept.all(), IsEmpty());
  EXPECT_THAT(open(noon + 2).all(), IsEmpty());
}

TEST_F(KeptOverridesTest, TheEndOfOneIsNewsAlsoIfAnotherOneIsSetInThatMoment) {
  KeptOverrides kept = open();
  ASSERT_TRUE(kept.set(*policies, {"burst", "10.0.0.2", 50, {}, noon, noon + 2}, noon));
  ASSERT_TRUE(kept.set(*policies, {"burst", "10.0.0.3", 50}, noon + 2));
  EXPECT_THAT(kept.follow(noon + 2).lines,
              ElementsAre(HasSubstr("an override has ended: {\"policy\":\"burst\"")));
  EXPECT_THAT(kept.follow(noon + 3).lines, IsEmpty()) << "it is said once";
}

TEST_F(KeptOverridesTest, AFaultOfTheFileIsNewsAlsoIfAChangeFoundItFirst) {
  KeptOverrides kept = open();
  write("nonsense");
  EXPECT_FALSE(kept.set(*policies, {"burst", "10.0.0.3", 5}, noon));
  EXPECT_THAT(kept.follow(noon).fault, HasSubstr("byte 0: expected an object"));
}

TEST_F(KeptOverridesTest, AFaultyFileChangesNothing) {
  KeptOverrides kept = open();
  ASSERT_TRUE(kept.set(*policies, {"burst", "10.0.0.2", 50, {}, noon, noon + 2}, noon));
  write("nonsense");
  EXPECT_THAT(kept.follow(noon).fault,
              HasSubstr("byte 0: expected an object; the overrides before it stay in force"));
  EXPECT_EQ(kept.all().size(), 1u);
  EXPECT_EQ(kept.follow(noon).fault, "") << "it is said once";
  EXPECT_FALSE(KeptOverrides(path, "").open(noon));
  EXPECT_EQ(kept.set(*policies, {"burst", "10.0.0.3", 5}, noon).error().reason,
            OverrideRefusal::Reason::failed);
  EXPECT_EQ(kept.follow(noon + 2).lines.size(), 1u) << "those before it end in time";
  EXPECT_THAT(kept.all(), IsEmpty());
}

TEST_F(KeptOverridesTest, AnEmptyFileEndsNone) {
  KeptOverrides kept = open();
  ASSERT_TRUE(kept.set(*policies, {"burst", "10.0.0.2", 0}, noon));
  std::filesystem::resize_file(path, 0);
  EXPECT_THAT(kept.follow(noon).fault,
              HasSubstr("the file is empty; expected {\"overrides\":[]}, or no file; "));
  EXPECT_THAT(kept.all(), SizeIs(1));
  EXPECT_FALSE(KeptOverrides(path, "").open(noon)) << "nor is it none at the start";
  std::filesystem::remove(path);
  EXPECT_THAT(kept.follow(noon).lines, SizeIs(1));
  EXPECT_THAT(kept.all(), IsEmpty());
}

TEST_F(KeptOverridesTest, AFileThatCannotBeReadIsTriedAgain) {
  KeptOverrides kept = open();
  KeptOverrides other = open();
  ASSERT_TRUE(other.set(*policies, {"burst", "10.0.0.2", 50}, noon));
  {
    const NoDescriptors none;
    EXPECT_THAT(kept.follow(noon).fault, HasSubstr("can't be read: Too many open files; "));
    EXPECT_EQ(kept.follow(noon).fault, "") << "it is said once";
  }
  const std::string read_again = path + " was read again; overrides now: 1";
  EXPECT_THAT(kept.follow(noon).lines, ElementsAre(read_again));
  EXPECT_EQ(kept.all(), other.all());
  EXPECT_THAT(kept.follow(noon).lines, IsEmpty());

  ASSERT_TRUE(other.set(*policies, {"burst", "10.0.0.2", 60}, noon));
  {
    const NoDescriptors none;
    EXPECT_NE(kept.follow(noon).fault, "") << "it is said again";
  }
  EXPECT_THAT(kept.follow(noon).lines, ElementsAre(read_again));
}

TEST_F(KeptOverridesTest, AFileThatCannotBeLookedAtEndsNone) {
  KeptOverrides kept = open();
  ASSERT_TRUE(kept.set(*policies, {"burst", "10.0.0.2", 50}, noon));
  const std::string away = directory.file("away");
  std::filesystem::rename(path, away);
  std::filesystem::create_symlink(path, path);  // stat() fails, as in a folder of another user
  EXPECT_THAT(kept.follow(noon).fault, HasSubstr("; the overrides before it stay in force"));
  EXPECT_EQ(kept.follow(noon).fault, "") << "it is said once";
  EXPECT_EQ(kept.all().size(), 1u);
  EXPECT_FALSE(KeptOverrides(path, "").open(noon)) << "nor is it no file at the start";
  std::filesystem::rename(away, path);
  EXPECT_THAT(kept.follow(noon).lines, ElementsAre(path + " was read again; overrides now: 1"));
  EXPECT_EQ(kept.changes(), 1u);
  std::filesystem::remove(path);
  EXPECT_THAT(kept.follow(noon).lines, SizeIs(1));
  EXPECT_THAT(kept.all(), IsEmpty());
}

TEST_F(KeptOverridesTest, AFolderThatIsAwayEndsNone) {
  const std::string folder = directory.file("folder");
  const std::string away = directory.file("away");
  KeptOverrides kept(folder + "/overrides", "");
  EXPECT_THAT(kept.open(noon).error(), HasSubstr("expected a folder " + folder));
  std::filesystem::create_directory(folder);
  ASSERT_TRUE(kept.open(noon));
  ASSERT_TRUE(kept.set(*policies, {"burst", "10.0.0.2", 50}, noon));
  std::filesystem::rename(folder, away);
  EXPECT_THAT(kept.follow(noon).fault, HasSubstr("; the overrides before it stay in force"));
  EXPECT_EQ(kept.follow(noon).fault, "") << "it is said once";
  EXPECT_THAT(kept.all(), SizeIs(1));
  std::filesystem::rename(away, folder);
  EXPECT_THAT(kept.follow(noon).lines, SizeIs(1));
  EXPECT_EQ(kept.changes(), 1u);
}

TEST_F(KeptOverridesTest, AClockThatGoesBackEndsNoneTooEarly) {
  KeptOverrides kept = open();
  ASSERT_TRUE(kept.set(*policies, {"burst", "10.0.0.2", 50, {}, noon, noon + 60}, noon));
  EXPECT_THAT(kept.follow(noon + 100).lines, SizeIs(1));
  EXPECT_THAT(kept.all(), IsEmpty());
  EXPECT_THAT(kept.follow(noon + 1).lines, ElementsAre(path + " was read again; overrides now: 1"));
  EXPECT_EQ(kept.all().size(), 1u);
  EXPECT_THAT(kept.follow(noon).lines, IsEmpty()) << "it has it";
}

TEST_F(KeptOverridesTest, AClockThatIsAheadEndsNoneForOthersNorForGood) {
  KeptOverrides other = open();
  ASSERT_TRUE(other.set(*policies, {"burst", "10.0.0.2", 0, {}, noon, noon + 60}, noon));
  ASSERT_TRUE(other.set(*policies, {"burst", "10.0.0.3", 0, {}, noon, noon + 60}, noon));
  KeptOverrides ahead = open(noon + 3600);
  ASSERT_TRUE(ahead.set(*policies, {"burst", "10.0.0.4", 9}, noon + 3600));
  EXPECT_THAT(ahead.all(), SizeIs(1));
  EXPECT_EQ(ahead.remove(*policies, "burst", "10.0.0.3", noon + 3600).value(), std::nullopt);
  static_cast<void>(other.follow(noon + 1));
  static_cast<void>(ahead.follow(noon + 1));
  for (const KeptOverrides& kept : {other, ahead}) {
    ASSERT_THAT(kept.all(), SizeIs(2));
    EXPECT_EQ(kept.all()[0].key, "10.0.0.2");
    EXPECT_EQ(kept.all()[1].key, "10.0.0.4") << "what was removed is not there again";
  }
}

TEST_F(KeptOverridesTest, ThoseThatHaveEndedLeaveTheFileInTime) {
  constexpr std::uint64_t week = 7 * 24 * 3600;
  KeptOverrides kept = open();
  ASSERT_TRUE(kept.set(*policies, {"burst", "10.0.0.2", 0, {}, noon, noon + 60}, noon));
  const auto there_at_noon = [&](std::uint64_t now) {
    EXPECT_TRUE(kept.set(*policies, {"burst", "10.0.0.3", now}, now));
    return open(noon).all().size() == 2;
  };
  EXPECT_TRUE(there_at_noon(noon + week + 59));
  EXPECT_FALSE(there_at_noon(noon + week + 60));
}

TEST_F(KeptOverridesTest, ThoseThatHaveEndedTakeNoRoom) {
  std::string text = "{\"overrides\":[";
  for (std::size_t i = 0; i < live_overrides_max; ++i) {
    text +=
        (i == 0 ? "" : ",") + json_of({"burst", "a" + std::to_string(i), 5, {}, noon, noon + 9});
  }
  write(text + "]}");
  KeptOverrides kept = open(noon + 8);
  EXPECT_EQ(kept.set(*policies, {"burst", "10.0.0.2", 0}, noon + 8).error().reason,
            OverrideRefusal::Reason::too_many);
  EXPECT_TRUE(kept.set(*policies, {"burst", "10.0.0.2", 0}, noon + 9));
  EXPECT_THAT(kept.all(), SizeIs(1));
}

TEST_F(KeptOverridesTest, WithoutAFileThereIsNone) {
  KeptOverrides kept("", "expected a file");
  ASSERT_TRUE(kept.open(noon));
  const auto set = kept.set(*policies, {"burst", "10.0.0.2", 50}, noon);
  EXPECT_EQ(set.error().reason, OverrideRefusal::Reason::no_file);
  EXPECT_EQ(set.error().what, "expected a file");
  EXPECT_THAT(kept.follow(noon).lines, IsEmpty());
}

}  // namespace
}  // namespace headgate::policy
