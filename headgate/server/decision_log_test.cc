#include "headgate/server/decision_log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "headgate/base/testing/allocations.h"
#include "headgate/base/testing/temporary_directory.h"

namespace headgate::server {
namespace {

std::string text_of(const std::string& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

class DecisionLogTest : public testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return directory_.file(name); }

  // Waits until the file has so many lines.
  static void await(const std::string& file, std::size_t lines) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (lines_of(text_of(file)) < lines) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline) << text_of(file).size();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  TemporaryDirectory directory_;
};

TEST_F(DecisionLogTest, WritesLinesInTheirOrder) {
  {
    DecisionLog log;
    log.add("before it is open\n");
    log.open(path("a"));
    for (int i = 0; i < 1000; ++i) log.add(std::to_string(i) + "\n");
  }
  std::string expected;
  for (int i = 0; i < 1000; ++i) expected += std::to_string(i) + "\n";
  EXPECT_EQ(text_of(path("a")), expected);
}

TEST_F(DecisionLogTest, RotationLosesNoLine) {
  constexpr int each = 5000;
  constexpr int threads = 3;
  {
    DecisionLog log;
    log.open(path("log"));
    std::vector<std::thread> writers;
    for (int t = 0; t < threads; ++t) {
      writers.emplace_back([&log, t] {
        for (int i = 0; i < each; ++i) {
          log.add(std::to_string(t) + ":" + std::to_string(i) + "\n");
        }
      });
    }
    for (int turn = 0; turn < 20; ++turn) {
      std::rename(path("log").c_str(), path("log." + std::to_string(turn)).c_str());
      log.open(path("log"));
      std::this_thread::yield();
    }
    for (std::thread& writer : writers) writer.join();
    EXPECT_EQ(log.dropped(), 0u);
  }
  std::multiset<std::string> seen;
  for (int turn = -1; turn < 20; ++turn) {
    std::ifstream in(path(turn < 0 ? "log" : "log." + std::to_string(turn)));
    for (std::string line; std::getline(in, line);) seen.insert(line);
  }
  EXPECT_EQ(seen.size(), std::size_t{threads * each});
  EXPECT_EQ(std::set<std::string>(seen.begin(), seen.end()).size(), seen.size());
}

TEST_F(DecisionLogTest, RotationWithoutMemoryLosesNoLine) {
  bool happened = true;
  for (std::size_t failures = 0; happened; ++failures) {
    const std::string file = path("a name that is long enough to be kept in memory of its own");
    std::filesystem::remove(file);
    DecisionLog log;
    log.open(path("no folder/log"));
    const std::string line = std::string(1000, 'x') + '\n';
    log.add(line);
    const FailingAllocation failing(failures);  // of the log's thread
    log.open(file);
    log.add("last\n");
    await(file, 2);
    EXPECT_EQ(text_of(file), line + "last\n") << "after failure " << failures;
    happened = failing.happened();
  }
}

TEST_F(DecisionLogTest, AReloadMayNameAnotherFileOrNone) {
  DecisionLog log;
  log.open(path("a"));
  log.add("one\n");
  await(path("a"), 1);
  log.open(path("b"));
  log.add("two\n");
  await(path("b"), 1);
  for (int i = 0; i < 100; ++i) log.add("more\n");
  log.open("");
  log.add("three\n");
  log.open(path("c"));
  log.add("four\n");
  await(path("c"), 1);
  EXPECT_EQ(text_of(path("a")) + text_of(path("c")), "one\nfour\n");
  EXPECT_EQ(lines_of(text_of(path("b"))), 101u) << "what came before the log ended";
}

// The reader of a pipe that stands still, a full disk, and a file that cannot be opened.
TEST_F(DecisionLogTest, NobodyWaitsForAFileThatTakesNothing) {
  ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
  const int reader = ::open(path("fifo").c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  const std::string line = std::string(1023, 'x') + '\n';
  constexpr std::size_t many = 4 * DecisionLog::waiting_max / 1024;
  for (const std::string& file : {path("fifo"), std::string("/dev/full"), path("no/such/folder")}) {
    DecisionLog log;
    log.open(file);
    // If this blocked, it would block for ever.
    for (std::size_t i = 0; i < many; ++i) log.add(line);
    EXPECT_GT(log.dropped(), many / 4) << file;
    EXPECT_LT(log.dropped(), many) << file;
  }
  ::close(reader);
}

// While it lives, no file of this process gets longer than `size`: like a full disk, also in that
// the last write takes as much as there is room for.
class FullDisk {
 public:
  explicit FullDisk(rlim_t size) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{size, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, action_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_{};
  void (*action_)(int) = std::signal(SIGXFSZ, SIG_IGN);
};

class FullDiskTest : public DecisionLogTest {
 protected:
  // Two lines and a half are in `log` then.
  void fill() {
    disk_.emplace(1000);
    log_.open(path("log"));
    for (const std::string& line : lines_) log_.add(line);
    until([&] { return text_of(path("log")).size() == 1000; });
  }

  static void until(const std::function<bool()>& done) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!done()) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  const std::vector<std::string> lines_{std::string(399, 'a') + '\n', std::string(399, 'b') + '\n',
                                        std::string(399, 'c') + '\n'};
  const std::string all_ = lines_[0] + lines_[1] + lines_[2];
  DecisionLog log_;
  std::optional<FullDisk> disk_;
};

TEST_F(FullDiskTest, ALineThatIsBegunGoesOnWhenThereIsRoom) {
  fill();
  disk_.reset();
  await(path("log"), 3);
  EXPECT_EQ(text_of(path("log")), all_);
}

TEST_F(FullDiskTest, ALineThatIsBegunGoesOnInTheSameFileThatIsOpenedAgain) {
  fill();
  const int events = inotify_init1(IN_CLOEXEC);
  ASSERT_GE(inotify_add_watch(events, path("log").c_str(), IN_CLOSE_WRITE), 0);
  log_.open(path("log"));
  pollfd closed{events, POLLIN, 0};
  ASSERT_EQ(poll(&closed, 1, 30'000), 1);
  ::close(events);
  disk_.reset();
  await(path("log"), 3);
  EXPECT_EQ(text_of(path("log")), all_);
}

TEST_F(FullDiskTest, ALineThatIsBegunIsWholeInAnotherFile) {
  fill();
  std::rename(path("log").c_str(), path("log.1").c_str());
  log_.open(path("log"));
  await(path("log"), 1);
  EXPECT_EQ(text_of(path("log")), lines_[2]);
  EXPECT_EQ(text_of(path("log.1")), all_.substr(0, 1000));
}

TEST_F(FullDiskTest, ALineThatIsBegunIsWholeInAFileThatIsEmptied) {
  fill();
  ASSERT_EQ(truncate(path("log").c_str(), 0), 0);
  await(path("log"), 1);
  EXPECT_EQ(text_of(path("log")), lines_[2]);
}

TEST_F(FullDiskTest, ALineThatIsBegunIsDroppedWithTheLog) {
  fill();
  log_.open("");
  until([&] { return log_.dropped() > 0; });
  EXPECT_EQ(log_.dropped(), 1u);
}

TEST_F(DecisionLogTest, APipeGetsWholeLinesWhenItIsRead) {
  ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
  const int reader = ::open(path("fifo").c_str(), O_RDONLY | O_NONBLOCK);
  DecisionLog log;
  log.open(path("fifo"));
  const std::string line = std::string(999, 'x') + '\n';
  constexpr std::size_t many = 1000;
  for (std::size_t i = 0; i < many; ++i) log.add(line);
  std::string got;
  while (got.size() < many * line.size()) {
    pollfd ready{reader, POLLIN, 0};
    ASSERT_EQ(poll(&ready, 1, 30'000), 1);
    char bytes[65536];
    const ssize_t size = ::read(reader, bytes, sizeof bytes);
    if (size > 0) got.append(bytes, static_cast<std::size_t>(size));
  }
  for (std::size_t i = 0; i < many; ++i) ASSERT_EQ(got.substr(i * line.size(), line.size()), line);
  EXPECT_EQ(log.dropped(), 0u);
  ::close(reader);
}

TEST_F(DecisionLogTest, WhatWaitedIsWrittenWhenTheFileCanBeOpened) {
  DecisionLog log;
  log.open(path("folder/log"));
  log.add("one\n");
  ASSERT_EQ(mkdir(path("folder").c_str(), 0700), 0);
  await(path("folder/log"), 1);
  EXPECT_EQ(text_of(path("folder/log")), "one\n");
}

}  // namespace
}  // namespace headgate::server
