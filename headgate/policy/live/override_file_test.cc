#include "headgate/policy/live/override_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <new>
#include <thread>

#include "headgate/base/testing/temporary_directory.h"

namespace headgate::policy {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class OverrideFileTest : public testing::Test {
 protected:
  const TemporaryDirectory directory;
  const std::string path = directory.file("overrides");
};

OverrideFile::Change adds(const std::string& key) {
  return [key](std::vector<LiveOverride>& all) {
    all.push_back({"burst", key, 1});
    return true;
  };
}

TEST_F(OverrideFileTest, KeepsWhatWasChanged) {
  OverrideFile file(path);
  EXPECT_TRUE(file.read()->empty());
  EXPECT_FALSE(file.has_changed());
  EXPECT_EQ(file.change(adds("a"))->size(), 1u);
  EXPECT_FALSE(file.has_changed()) << "its own change is known";
  OverrideFile again(path);
  ASSERT_EQ(again.read()->size(), 1u);
  EXPECT_EQ(again.read()->front(), (LiveOverride{"burst", "a", 1}));
}

TEST_F(OverrideFileTest, AnotherProcessSeesAChange) {
  OverrideFile one(path);
  OverrideFile other(path);
  ASSERT_TRUE(one.read());
  ASSERT_TRUE(other.change(adds("a")));
  EXPECT_TRUE(one.has_changed());
  EXPECT_EQ(one.change(adds("b"))->size(), 2u) << "changes what the file has now";
  EXPECT_FALSE(one.has_changed());
  EXPECT_TRUE(other.has_changed());
  EXPECT_EQ(other.read()->size(), 2u);
  EXPECT_EQ(other.change([](auto& all) { return all.clear(), false; })->size(), 2u);
  EXPECT_EQ(other.read()->size(), 2u) << "a change that was not meant is not written";
}

TEST_F(OverrideFileTest, ChangesAtTheSameTimeAreAllKept) {
  constexpr int each = 20;
  std::vector<std::thread> threads;
  for (const char* name : {"a", "b", "c", "d"}) {
    threads.emplace_back([&, name] {
      OverrideFile file(path);
      for (int i = 0; i < each; ++i) {
        while (!file.change(adds(name + std::to_string(i)))) {
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(OverrideFile(path).read()->size(), 4u * each);
}

TEST_F(OverrideFileTest, ALinkLeadsToTheFileThatIsReplaced) {
  const std::string link = directory.file("link");
  const std::string further = directory.file("further");
  std::filesystem::create_symlink("further", link);
  std::filesystem::create_symlink(path, further);
  ASSERT_TRUE(OverrideFile(link).change(adds("a"))) << "there is no file yet";
  EXPECT_TRUE(OverrideFile(path).change(adds("b")));
  EXPECT_TRUE(OverrideFile(link).change(adds("c")));
  EXPECT_EQ(OverrideFile(path).read()->size(), 3u);
  EXPECT_TRUE(std::filesystem::is_symlink(link) && std::filesystem::is_symlink(further));
}

TEST_F(OverrideFileTest, FaultsNameTheFileAndLeaveItAsItIs) {
  std::ofstream(path) << "quota";
  OverrideFile file(path);
  EXPECT_THAT(file.read().error(), StartsWith(path + ": byte 0: expected "));
  EXPECT_FALSE(file.change(adds("a")));
  std::string text;
  std::ifstream(path) >> text;
  EXPECT_EQ(text, "quota");
  EXPECT_THAT(OverrideFile(directory.file("none/overrides")).change(adds("a")).error(),
              HasSubstr("cannot be changed: No such file or directory"));
  EXPECT_THAT(OverrideFile(directory.file("none/overrides")).read().error(),
              HasSubstr("expected a folder " + directory.file("none") + ", which is not there"));
  EXPECT_THAT(OverrideFile(directory.path().string()).read().error(), HasSubstr("no regular file"));
}

TEST_F(OverrideFileTest, OnlyAMissingFileIsNone) {
  std::filesystem::create_symlink("nowhere", path);
  OverrideFile file(path);
  EXPECT_TRUE(file.read()->empty());
  std::filesystem::remove(path);
  std::filesystem::create_symlink(path, path);
  EXPECT_TRUE(file.has_changed());
  EXPECT_THAT(file.read().error(), HasSubstr("can't be read: Too many levels of symbolic links"));
  EXPECT_FALSE(file.has_changed());
  EXPECT_TRUE(file.is_unread());
  std::filesystem::remove(path);
  EXPECT_TRUE(file.has_changed());
  EXPECT_TRUE(file.read()->empty());
  EXPECT_FALSE(file.is_unread());
}

TEST_F(OverrideFileTest, AFileWithFaultsNeedsNoOtherReading) {
  std::ofstream(path) << "quota";
  OverrideFile file(path);
  EXPECT_FALSE(file.read());
  EXPECT_FALSE(file.has_changed() || file.is_unread());
}

TEST_F(OverrideFileTest, AChangeThatFailsHidesNoneOfAnotherProcess) {
  OverrideFile one(path);
  ASSERT_TRUE(one.read());
  ASSERT_TRUE(OverrideFile(path).change(adds("a")));
  EXPECT_THAT(one.change([&](auto& all) {
                   unlink((path + ".headgate-draft").c_str());
                   return adds("b")(all);
                 })
                  .error(),
              HasSubstr("cannot be changed"));
  EXPECT_TRUE(one.has_changed());
  ASSERT_EQ(one.read()->size(), 1u);

  ASSERT_TRUE(OverrideFile(path).change(adds("b")));
  EXPECT_THROW((void)one.change([](auto&) -> bool { throw std::bad_alloc(); }), std::bad_alloc);
  EXPECT_TRUE(one.has_changed());

  std::ofstream(path) << "quota";
  EXPECT_FALSE(one.change(adds("b")));
  EXPECT_TRUE(one.has_changed()) << "so that the fault is reported";
}

TEST_F(OverrideFileTest, AChangeRightBehindAnotherIsSeen) {
  const std::string one = directory.file("one");
  const std::string two = directory.file("two");
  ASSERT_TRUE(OverrideFile(one).change(adds("a")));
  ASSERT_TRUE(OverrideFile(two).change(adds("b")));
  std::filesystem::create_symlink(one, path);
  OverrideFile file(path);
  ASSERT_TRUE(file.change([&](auto& all) {
    std::filesystem::remove(path);
    std::filesystem::create_symlink(two, path);
    return adds("c")(all);
  }));
  EXPECT_TRUE(file.has_changed());
  EXPECT_EQ(file.read()->front().key, "b");
}

TEST_F(OverrideFileTest, AFailedChangeTakesNoRoomOnAFullDisk) {
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  const rlimit small{1024, limit.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const auto changed = OverrideFile(path).change(adds(std::string(5000, 'k')));
  setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, before);
  EXPECT_THAT(changed.error(), HasSubstr("File too large"));
  EXPECT_EQ(std::filesystem::file_size(path + ".headgate-draft"), 0u);
}

TEST_F(OverrideFileTest, AProcessThatHangsDoesNotHoldUpOthersForEver) {
  const int held = open((path + ".headgate-draft").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_EQ(flock(held, LOCK_EX), 0);
  EXPECT_THAT(OverrideFile(path).change(adds("a")).error(), HasSubstr("locked"));
  close(held);
  EXPECT_TRUE(OverrideFile(path).change(adds("a"))) << "what a killed process left is used up";
}

}  // namespace
}  // namespace headgate::policy
