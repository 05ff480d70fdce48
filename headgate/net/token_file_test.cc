#include "headgate/net/token_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "headgate/base/testing/temporary_directory.h"
#include "headgate/net/tls.h"

namespace headgate::net {
namespace {

using ::testing::HasSubstr;

class TokenFile : public testing::Test {
 protected:
  [[nodiscard]] std::string read(const std::string& text) const {
    std::ofstream(path_, std::ios::binary) << text;
    std::filesystem::permissions(path_, std::filesystem::perms::owner_read);
    const auto token = read_token(path_);
    std::filesystem::remove(path_);
    return token ? *token : token.error();
  }

  const TemporaryDirectory directory_;
  const std::string path_ = directory_.file("token");
};

TEST_F(TokenFile, TheFirstLineIsTheToken) {
  EXPECT_EQ(read("correct-horse-battery"), "correct-horse-battery");
  EXPECT_EQ(read("correct-horse-battery \r\nmore\n"), "correct-horse-battery");
  EXPECT_EQ(read(std::string(4096, 'a') + "\n"), std::string(4096, 'a'));
}

TEST_F(TokenFile, WhatIsNoTokenIsRefused) {
  EXPECT_THAT(read(""), HasSubstr(path_ + ": is empty; expected a file whose first line is"));
  EXPECT_THAT(read("\ncorrect-horse-battery\n"), HasSubstr("at least 16 characters"));
  EXPECT_THAT(read("correct horse battery\n"), HasSubstr("printable ASCII without spaces"));
  EXPECT_THAT(read(std::string(5000, 'a')), HasSubstr("at most 4096 characters"));
}

// To open or to read one of these would not end.
TEST_F(TokenFile, WhatIsNoFileIsRefusedAtOnce) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  const std::string device = directory_.file("device");
  std::filesystem::create_symlink("/dev/zero", device);
  for (const std::string& path :
       {path_, device, std::string(std::filesystem::path(path_).parent_path())}) {
    EXPECT_THAT(read_token(path).error(), HasSubstr(path + ": is no regular file"));
    EXPECT_THAT(TlsContext::load(path, path, "").error(), HasSubstr(path + ": is no regular file"));
    EXPECT_THAT(TlsContext::load_for_client(path, "", "").error(),
                HasSubstr(path + ": is no regular file"));
  }
}

}  // namespace
}  // namespace headgate::net
