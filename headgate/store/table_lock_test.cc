// The lock of a table's file: what happens while a process waits for it, and where there is none.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>

#include "headgate/base/testing/temporary_directory.h"
#include "headgate/store/table.h"

namespace {

// Called once, by the next flock(); if it returns false, that fails.
std::function<bool()> before_lock;

}  // namespace

// In place of the system's.
extern "C" int flock(int descriptor, int operation) noexcept {
  if (before_lock && !std::exchange(before_lock, nullptr)()) {
    errno = ENOLCK;  // as NFS without its lock daemon
    return -1;
  }
  return static_cast<int>(syscall(SYS_flock, descriptor, operation));
}

namespace headgate::store {
namespace {

using testing::HasSubstr;

constexpr std::size_t kib = 1024;

class TableLock : public testing::Test {
 protected:
  ~TableLock() override { before_lock = nullptr; }

  [[nodiscard]] TableOptions options(std::size_t memory) const {
    return {.memory = memory, .file = path_};
  }

  const TemporaryDirectory directory_;
  const std::string path_ = directory_.file("table");
};

TEST_F(TableLock, ATableThatGrowsWhileItIsOpenedIsOpened) {
  const auto one = Table::open(options(64 * kib)).value();
  before_lock = [&] { return one->grow(options(256 * kib)).has_value(); };
  const auto other = Table::open(options(128 * kib));
  ASSERT_TRUE(other) << other.error();
  EXPECT_EQ((*other)->stats().memory, 256 * kib);
}

// Nobody would take over what a process of before a reboot has locked.
TEST_F(TableLock, AFileSystemWithoutLocksIsRefused) {
  const auto refusal = [&] {
    before_lock = [] { return false; };
    const auto table = Table::open(options(64 * kib));
    return table ? "" : table.error();
  };
  const std::string expected =
      "cannot be locked with flock(): No locks available; expected a file system that has locks";
  EXPECT_THAT(refusal(), HasSubstr(path_ + ".headgate-draft: " + expected));
  EXPECT_FALSE(std::filesystem::exists(path_));
  const auto one = Table::open(options(64 * kib));
  ASSERT_TRUE(one) << one.error();
  EXPECT_THAT(refusal(), HasSubstr(path_ + ": " + expected));
}

}  // namespace
}  // namespace headgate::store
