// A table in a file: it survives restarts; files that are not a valid table are refused.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "headgate/base/testing/temporary_directory.h"
#include "headgate/store/table.h"
#include "headgate/store/testing/process_swaps.h"

namespace headgate::store {
namespace {

using limit::Decision;
using limit::Law;
using testing::HasSubstr;

constexpr Nanos second = nanos_per_second;
constexpr std::size_t memory = 64 * 1024;

class TableFile : public testing::Test {
 protected:
  Result<std::unique_ptr<Table>, std::string> open(std::size_t bytes = memory) {
    return Table::open({.memory = bytes, .file = path_});
  }

  // The error with which this file is refused.
  std::string refusal(std::size_t bytes = memory) {
    const auto before = contents();
    const auto table = open(bytes);
    EXPECT_FALSE(table.has_value());
    EXPECT_EQ(contents(), before) << "a refused file is not touched";
    return table ? "" : table.error();
  }

  std::string contents() {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  void write(const std::string& bytes) { std::ofstream(path_, std::ios::binary) << bytes; }

  // Overwrites some bytes of the file.
  void poke(std::size_t offset, const std::string& bytes) {
    std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(offset));
    file << bytes;
  }

  TemporaryDirectory directory_;
  std::string path_ = directory_.file("table");
};

Decision spend(Table& table, const Law& law, std::uint64_t cost, Instant now) {
  const Charge charge{&law, "key", cost};
  Decision decision;
  Bundle bundle{{&charge, 1}, {&decision, 1}};
  table.take({&bundle, 1}, now, {});
  return decision;
}

TEST_F(TableFile, KeepsQuotasOverARestart) {
  const Law narrow = limit::make_law({10, 100'000 * second}, {}).value();
  const Law wide = limit::make_law({7, 100'000 * second}, {}).value();
  for (const Law* law : {&narrow, &wide}) {
    std::filesystem::remove(path_);
    Instant then;
    HashSecret secret;
    {
      const auto table = open();
      ASSERT_TRUE(table) << table.error();
      then = (*table)->now();
      secret = (*table)->secret();
      EXPECT_TRUE(spend(**table, *law, 5, then).admitted);
    }
    const auto table = open();
    ASSERT_TRUE(table) << table.error();
    EXPECT_GE((*table)->now(), then);
    EXPECT_LT((*table)->now().ns - then.ns, 3600 * second);
    EXPECT_EQ((*table)->secret().k0, secret.k0);
    EXPECT_EQ(spend(**table, *law, 0, then).remaining, law == &narrow ? 5u : 2u);
  }
}

TEST_F(TableFile, IsReadableByItsOwnerOnly) {
  ASSERT_TRUE(open());
  struct stat status = {};
  ASSERT_EQ(stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(TableFile, TwoUsersShareOneState) {
  const auto one = open();
  const auto two = open();
  ASSERT_TRUE(one && two);
  const Law law = limit::make_law({10, 100'000 * second}, {}).value();
  const Instant now = (*one)->now();
  EXPECT_TRUE(spend(**one, law, 4, now).admitted);
  EXPECT_EQ(spend(**two, law, 4, now).remaining, 2u);
  EXPECT_LT((*two)->now().ns - now.ns, 3600 * second);
}

TEST_F(TableFile, ManyProcessesThatCreateItAtOnceGetTheSame) {
  if (!swaps_between_processes) GTEST_SKIP() << no_swaps_between_processes;
  const Law law = limit::make_law({100, 100'000 * second}, {}).value();
  for (int round = 0; round < 20; ++round) {
    std::filesystem::remove(path_);
    std::vector<pid_t> children;
    for (int i = 0; i < 4; ++i) {
      const pid_t child = fork();
      ASSERT_GE(child, 0);
      if (child == 0) {
        const auto table = open();
        _exit(table && spend(**table, law, 1, Instant{second}).admitted ? 0 : 1);
      }
      children.push_back(child);
    }
    for (const pid_t child : children) {
      int status = 0;
      waitpid(child, &status, 0);
      EXPECT_EQ(status, 0);
    }
    const auto table = open();
    ASSERT_TRUE(table);
    EXPECT_EQ(spend(**table, law, 0, Instant{second}).remaining, 96u);
    int files = 0;
    for ([[maybe_unused]] const auto& entry :
         std::filesystem::directory_iterator(directory_.path())) {
      ++files;
    }
    EXPECT_EQ(files, 1) << "nothing is left behind";
  }
}

TEST_F(TableFile, AKilledCreationLeavesNothingToTheNext) {
  for (const std::size_t bytes : {memory / 2, 2 * memory}) {
    std::filesystem::remove(path_);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const auto die = [](std::span<std::byte> draft, void*) {
        std::fill(draft.begin(), draft.end(), std::byte{0x55});
        kill(getpid(), SIGKILL);
      };
      static_cast<void>(Region::create(path_, bytes, die, nullptr));
      _exit(1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));
    const auto table = open();
    ASSERT_TRUE(table) << table.error();
    EXPECT_EQ((*table)->stats().live(), 0u);
    EXPECT_EQ(std::filesystem::file_size(path_), memory);
    const std::filesystem::directory_iterator files(directory_.path());
    EXPECT_EQ(std::distance(begin(files), end(files)), 1) << "only the table";
  }
}

TEST_F(TableFile, ALinkToNothingIsRefused) {
  std::filesystem::create_symlink(directory_.file("missing"), path_);
  const auto table = open();
  ASSERT_FALSE(table);
  EXPECT_THAT(table.error(),
              HasSubstr(path_ + ": is a symbolic link to a file that does not exist"));
}

TEST_F(TableFile, ALinkToATableIsFollowed) {
  ASSERT_TRUE(open());
  const std::string other = directory_.file("link");
  std::filesystem::create_symlink(path_, other);
  path_ = other;
  EXPECT_TRUE(open());
}

// Runs `act` in a child process, because the handler of SIGBUS stays. Returns its wait status.
template <class Act>
int in_child(Act act) {
  const pid_t child = fork();
  if (child == 0) _exit(act());
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

TEST_F(TableFile, ATruncatedFileIsReplacedByMemoryThatProcessesShare) {
  const Law narrow = limit::make_law({10, 100'000 * second}, {}).value();
  const Law wide = limit::make_law({7, 100'000 * second}, {}).value();
  const Law window =
      limit::make_law({9, 100'000 * second}, {.algorithm = limit::Algorithm::fixed_window}).value();
  // Within a page that still has bytes of the file, what follows them is zero, without a signal.
  for (const std::size_t rest : {0, 1, 65, 100, 128, 200, 700, 4096}) {
    for (const auto& [law, quota] : {std::pair(&narrow, 10u), {&wide, 7u}, {&window, 9u}}) {
      std::filesystem::remove(path_);
      const auto act = [&, law = law, quota = quota] {
        const std::string errors = directory_.file("errors");
        dup2(::open(errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
        FileGuard::watch();
        const auto opened = open();
        if (!opened) return 1;
        Table& table = **opened;
        const Instant now = table.now();
        const HashSecret secret = table.secret();
        if (spend(table, *law, 5, now).remaining != quota - 5 || table.stats().file_lost) return 2;
        std::filesystem::resize_file(path_, rest);
        const auto worker = [&] {
          return spend(table, *law, 4, now).remaining == quota - 4 ? 0 : 1;
        };
        if (in_child(worker) != 0) return 3;
        if (spend(table, *law, 1, now).remaining != quota - 5) return 4;
        if (table.secret().k0 != secret.k0 || table.secret().k1 != secret.k1) return 5;
        if (table.now() < now || table.now().ns > now.ns + 3600 * second) return 6;
        if (!table.stats().file_lost) return 7;
        std::ifstream said(errors);
        std::string line;
        std::getline(said, line);
        return line.starts_with("headgate: " + path_ + ": the table's file was truncated") ? 0 : 8;
      };
      EXPECT_EQ(in_child(act), 0) << "exit status times 256";
    }
  }
}

TEST_F(TableFile, ADeletedFileIsLost) {
  const auto table = open();
  ASSERT_TRUE(table) << table.error();
  EXPECT_FALSE((*table)->stats().file_lost);
  std::filesystem::remove(path_);
  EXPECT_TRUE((*table)->stats().file_lost);
}

TEST_F(TableFile, AnotherCauseOfSigbusEndsTheProcess) {
  const auto act = [&] {
    FileGuard::watch();
    const auto table = open();
    raise(SIGBUS);
    return 0;
  };
  EXPECT_NE(in_child(act), 0);
  const auto unguarded = [&] {
    FileGuard::watch();
    const int file = ::open(directory_.file("other").c_str(), O_RDWR | O_CREAT, 0600);
    void* const at = mmap(nullptr, 4096, PROT_READ, MAP_SHARED, file, 0);
    return static_cast<int>(*static_cast<volatile const char*>(at)) & 0;
  };
  EXPECT_NE(in_child(unguarded), 0);
}

TEST_F(TableFile, AForeignFileIsRefused) {
  write("127.0.0.1 - - [10/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.0\" 200 2326\n");
  EXPECT_THAT(refusal(), HasSubstr(path_ + ": is not a headgate table"));
  write("");
  EXPECT_THAT(refusal(), HasSubstr("is not a headgate table"));
  write(std::string(memory, '\0'));
  EXPECT_THAT(refusal(), HasSubstr("is not a headgate table"));
}

TEST_F(TableFile, AnotherVersionIsRefused) {
  ASSERT_TRUE(open());
  poke(8, std::string("\x03\0\0\0", 4));
  EXPECT_THAT(refusal(),
              HasSubstr("is a headgate table of format 3, and this headgate reads format 5"));
}

TEST_F(TableFile, ATruncatedFileIsRefused) {
  ASSERT_TRUE(open());
  for (const std::size_t bytes : {memory + 1, memory - 4096, memory - 1, std::size_t{4096}}) {
    std::filesystem::resize_file(path_, bytes);
    EXPECT_THAT(refusal(), HasSubstr("is truncated or was resized: it has " +
                                     std::to_string(bytes) + " bytes, and its header says 65536"));
  }
  std::filesystem::resize_file(path_, 80);
  EXPECT_THAT(refusal(), HasSubstr("is truncated: it has 80 bytes"));
  std::filesystem::resize_file(path_, 20);
  EXPECT_THAT(refusal(), HasSubstr("is not a headgate table"));
}

TEST_F(TableFile, ADamagedHeaderIsRefused) {
  ASSERT_TRUE(open());
  const std::string whole = contents();
  for (std::size_t at = 12; at < 192; ++at) {
    if (at >= 48 && at < 64) continue;   // whether the file is growing
    if (at >= 72 && at < 128) continue;  // unused
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    write(damaged);
    EXPECT_THAT(refusal(), testing::AnyOf(HasSubstr("has a damaged header"),
                                          HasSubstr("is truncated or was resized")))
        << "byte " << at;
  }
}

TEST_F(TableFile, WhatCannotBeAFileIsRefused) {
  path_ = directory_.path();
  EXPECT_THAT(open().error(), HasSubstr("Is a directory"));
  path_ = "/dev/null";
  EXPECT_THAT(open().error(), HasSubstr("is not a regular file"));
  path_ = directory_.file("missing/table");
  EXPECT_THAT(open().error(), HasSubstr("cannot create: No such file or directory"));
}

TEST_F(TableFile, GarbageInTheCellsLocksNoKeyOut) {
  ASSERT_TRUE(open());
  std::string garbage(memory - 4096, '\0');
  std::uint64_t x = 88172645463325252;
  for (char& c : garbage) {
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    c = static_cast<char>(x);
  }
  poke(4096, garbage);
  const auto table = open();
  ASSERT_TRUE(table) << table.error();
  const Law narrow = limit::make_law({10, 10 * second}, {}).value();
  const Law wide = limit::make_law({7, 10 * second}, {}).value();
  for (const Law* law : {&narrow, &wide}) {
    for (int i = 0; i < 2000; ++i) {
      const std::string key = std::to_string(i);
      const Charge charge{law, key, 1};
      Decision decision;
      Bundle bundle{{&charge, 1}, {&decision, 1}};
      (*table)->take({&bundle, 1}, Instant{3600 * second}, {});
      EXPECT_TRUE(decision.admitted || decision.wait <= 10 * second);
    }
  }
  EXPECT_LE((*table)->stats().live(), (*table)->stats().cells());
}

TEST_F(TableFile, OpensAtOnceWhateverItsSize) {
  // Does not measure time: memory that open() accesses becomes resident.
  const std::size_t large = std::size_t{1} << 30;
  const auto space = std::filesystem::space(directory_.path());
  if (space.available < 2 * large) GTEST_SKIP() << "needs 2 GiB of free disk space";
  ASSERT_TRUE(open(large));
  const auto resident = [] {
    std::ifstream in("/proc/self/statm");
    std::size_t total = 0;
    std::size_t pages = 0;
    in >> total >> pages;
    return pages * 4096;
  };
  const std::size_t before = resident();
  const auto table = open(large);
  ASSERT_TRUE(table) << table.error();
  EXPECT_LT(resident(), before + (std::size_t{8} << 20));
}

}  // namespace
}  // namespace headgate::store
