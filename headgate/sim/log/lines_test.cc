#include "headgate/sim/log/lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <vector>

namespace headgate::sim {
namespace {

class LinesTest : public ::testing::Test {
 protected:
  ~LinesTest() override { std::filesystem::remove(path_); }

  std::vector<std::string> lines_of(const std::string& text) {
    std::ofstream(path_) << text;
    auto lines = Lines::open(path_);
    EXPECT_TRUE(lines) << lines.error();
    std::vector<std::string> all;
    cut_ = 0;
    for (Line line; !lines->peek().empty();) {
      const std::string ahead(lines->peek().substr(0, lines->peek().find_first_of("\r\n")));
      EXPECT_TRUE(lines->next(line));
      EXPECT_EQ(line.text, ahead.substr(0, line_bytes_max));
      all.emplace_back(line.text);
      EXPECT_EQ(line.number, all.size());
      if (line.cut) ++cut_;
    }
    EXPECT_EQ(lines->error(), "");
    return all;
  }

  const std::string path_ =
      std::filesystem::temp_directory_path() / ("headgate-lines-" + std::to_string(getpid()));
  std::size_t cut_ = 0;
};

TEST_F(LinesTest, LinesComeWithoutNewlineAndTheLastMayLackIt) {
  using ::testing::ElementsAre;
  EXPECT_THAT(lines_of(""), ElementsAre());
  EXPECT_THAT(lines_of("a\r\nb\n\nc"), ElementsAre("a", "b", "", "c"));
  EXPECT_THAT(lines_of("a\n"), ElementsAre("a"));
}

TEST_F(LinesTest, ALineBeyondTheLimitIsCutAndMarked) {
  const auto lines = lines_of(std::string(line_bytes_max, 'x') + "\n" +
                              std::string(line_bytes_max + 1, 'y') + "\nz\n");
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(cut_, 1u);
  EXPECT_EQ(lines[1].size(), line_bytes_max);
  EXPECT_EQ(lines[2], "z");
}

TEST_F(LinesTest, UnreadableFilesAreRefusedWithAText) {
  EXPECT_EQ(Lines::open("/nowhere/trace").error(), "No such file or directory");
  EXPECT_EQ(Lines::open("/").error(), "Is a directory");
}

}  // namespace
}  // namespace headgate::sim
