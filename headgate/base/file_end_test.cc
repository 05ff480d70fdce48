#include "headgate/base/file_end.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "headgate/base/testing/temporary_directory.h"

namespace headgate {
namespace {

TEST(FileEnd, IsOfOneFileWithOneLength) {
  const TemporaryDirectory directory;
  const auto open_new = [&](const std::string& name) {
    return open(directory.file(name).c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  };
  const int fd = open_new("a");
  ASSERT_EQ(write(fd, "half a", 6), 6);
  const FileEnd end(fd);
  const int again = open_new("a");
  EXPECT_EQ(FileEnd(again), end);
  const int other = open_new("b");
  ASSERT_EQ(write(other, "half a", 6), 6);
  EXPECT_NE(FileEnd(other), end);
  ASSERT_EQ(write(again, " line", 5), 5);
  EXPECT_NE(FileEnd(fd), end);
  ASSERT_EQ(ftruncate(fd, 0), 0);
  EXPECT_NE(FileEnd(fd), end);
  for (const int one : {fd, again, other}) close(one);
}

}  // namespace
}  // namespace headgate
