#include "headgate/store/region.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <sstream>
#include <string>
#include <utility>

#include "headgate/base/testing/temporary_directory.h"

namespace headgate::store {
namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;

// Bytes of this process's shared memory that are mapped by huge pages.
std::size_t shared_in_huge_pages() {
  std::ifstream maps("/proc/self/smaps_rollup");
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::string name;
    std::size_t kib = 0;
    if (words >> name >> kib && name == "ShmemPmdMapped:") return kib * 1024;
  }
  return 0;
}

// Whether the system collapses this much shared memory into huge pages on request: Linux before 6.1
// cannot, later versions may be configured not to, and there may be too few huge pages.
bool system_collapses(std::size_t bytes) {
  constexpr int collapse = 25;
  const std::size_t wide = bytes + huge_page;
  void* raw = mmap(nullptr, wide, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) return false;
  const std::size_t skip = huge_page - reinterpret_cast<std::uintptr_t>(raw) % huge_page;
  auto* begin = static_cast<std::byte*>(raw) + skip;
  const bool mapped = mmap(begin, bytes, PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == begin;
  for (std::size_t i = 0; mapped && i < bytes; i += 4096) begin[i] = std::byte{1};
  const bool done = mapped && madvise(begin, bytes, collapse) == 0;
  munmap(raw, wide);
  return done;
}

TEST(Region, SharedMemoryIsInHugePages) {
  if (!system_collapses(8 * huge_page))
    GTEST_SKIP() << "this system makes no huge pages of shared memory";
  const std::size_t before = shared_in_huge_pages();
  const auto region = Region::anonymous(8 * huge_page, Sharing::processes);
  ASSERT_TRUE(region) << region.error();
  EXPECT_EQ(shared_in_huge_pages() - before, 8 * huge_page);
}

TEST(Region, IsZeroedAndWritableToItsLastByte) {
  for (const Sharing sharing : {Sharing::threads, Sharing::processes}) {
    for (const std::size_t bytes : {std::size_t{100}, huge_page - 4096, huge_page + 4096 + 1}) {
      const auto region = Region::anonymous(bytes, sharing);
      ASSERT_TRUE(region) << region.error();
      ASSERT_EQ(region->bytes().size(), bytes);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(region->bytes().data()) % huge_page, 0u);
      for (std::byte& each : region->bytes()) {
        ASSERT_EQ(each, std::byte{0});
        each = std::byte{1};
      }
    }
  }
}

// A program that has closed its standard output, and prints.
TEST(Region, IsNoStandardOutput) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("table");
  std::ofstream(path) << "table";
  const int output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  close(STDOUT_FILENO);
  const auto file = Region::file(path);
  const auto memory = Region::anonymous(4096, Sharing::processes, 2 * 4096);
  const ssize_t printed = write(STDOUT_FILENO, "line", 4);
  dup2(output, STDOUT_FILENO);
  close(output);
  ASSERT_TRUE(file && *file && memory);
  EXPECT_EQ(printed, -1);
  EXPECT_EQ((*file)->bytes()[0], std::byte{'t'});
}

class RegionNameTest : public ::testing::Test {
 protected:
  RegionNameTest() {
    EXPECT_TRUE(Region::create(
        path_, 4096, [](std::span<std::byte>, void*) {}, nullptr));
    std::filesystem::create_symlink("table", link_);
  }

  [[nodiscard]] static Region open(const std::string& path) {
    return std::move(Region::file(path).value().value());
  }

  const TemporaryDirectory directory_;
  const std::string path_ = (directory_.path() / "table").string();
  const std::string other_ = (directory_.path() / "other").string();
  const std::string link_ = (directory_.path() / "link").string();
};

TEST_F(RegionNameTest, IsLostWhenTheFileIsDeletedAlsoIfAnotherNameIsLeft) {
  const Region region = open(path_);
  std::filesystem::create_hard_link(path_, other_);
  EXPECT_FALSE(region.has_lost_name());
  std::filesystem::remove(path_);
  EXPECT_TRUE(region.has_lost_name());
}

TEST_F(RegionNameTest, IsLostWhenAnotherFileHasIt) {
  const Region region = open(path_);
  std::filesystem::rename(path_, other_);
  std::filesystem::copy(other_, path_);
  EXPECT_TRUE(region.has_lost_name());
  std::filesystem::rename(other_, path_);
  EXPECT_FALSE(region.has_lost_name());
}

TEST_F(RegionNameTest, IsFoundBehindASymbolicLinkAndFromAnotherFolder) {
  const auto folder = std::filesystem::current_path();
  std::filesystem::current_path(directory_.path());
  const Region region = open("link");
  std::filesystem::current_path(folder);
  EXPECT_FALSE(region.has_lost_name());
  std::filesystem::remove(link_);
  EXPECT_TRUE(region.has_lost_name());
}

TEST_F(RegionNameTest, AFileThatWasTruncatedIsNotMadeLongAgain) {
  Region region = open(path_);
  std::filesystem::resize_file(path_, 100);
  const auto grown = region.grow(4096, 8192);
  ASSERT_FALSE(grown);
  EXPECT_EQ(grown.error(), "cannot grow: its file was truncated");
  EXPECT_EQ(std::filesystem::file_size(path_), 100u);
}

TEST(Region, WithoutAFileHasNoNameToLose) {
  EXPECT_FALSE(Region::anonymous(4096, Sharing::processes, 8192).value().has_lost_name());
}

TEST(Region, SaysHowMuchCouldNotBeMapped) {
  const auto region = Region::anonymous(std::size_t{1} << 60, Sharing::processes);
  ASSERT_FALSE(region);
  EXPECT_NE(region.error().find("cannot map 1152921504606846976 bytes"), std::string::npos)
      << region.error();
}

}  // namespace
}  // namespace headgate::store
