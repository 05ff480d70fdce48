#include "headgate/base/regular_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace headgate {
namespace {

class RegularFileTest : public testing::Test {
 protected:
  RegularFileTest() {
    char name[] = "/tmp/headgate-file-XXXXXX";
    directory_ = mkdtemp(name);
  }
  ~RegularFileTest() override { std::filesystem::remove_all(directory_); }

  std::string path(const std::string& name) const { return directory_ + '/' + name; }

 private:
  std::string directory_;
};

TEST_F(RegularFileTest, ReturnsTheWholeFileOrOneByteMoreThanAllowed) {
  const std::string content = std::string(200'000, 'x') + '\0' + "end";
  std::ofstream(path("file"), std::ios::binary) << content;
  EXPECT_EQ(read_regular_file(path("file"), content.size()), content);
  EXPECT_EQ(read_regular_file(path("file"), 1 << 20), content);
  EXPECT_EQ(read_regular_file(path("file"), 9), content.substr(0, 10));
  EXPECT_EQ(read_regular_file(path("file"), content.size() - 1)->size(), content.size());
  std::ofstream(path("empty"));
  EXPECT_EQ(read_regular_file(path("empty"), 9), "");
}

TEST_F(RegularFileTest, OpensNothingThatCouldBlock) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  for (const std::string& other : {path("pipe"), path(""), std::string("/dev/zero")}) {
    EXPECT_EQ(read_regular_file(other, 9).error(), "is no regular file") << other;
  }
  EXPECT_EQ(read_regular_file(path("none"), 9).error(), "can't be read: No such file or directory");
}

}  // namespace
}  // namespace headgate
