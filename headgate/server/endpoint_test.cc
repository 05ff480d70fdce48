#include "headgate/server/endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace headgate::server {
namespace {

using testing::HasSubstr;

TEST(Endpoint, ReadsWhatPeopleWrite) {
  EXPECT_EQ(Endpoint::parse("127.0.0.1:8081")->text(), "127.0.0.1:8081");
  EXPECT_EQ(Endpoint::parse("[::1]:8081")->text(), "[::1]:8081");
  EXPECT_EQ(Endpoint::parse("*:8081")->text(), "0.0.0.0:8081");
  EXPECT_EQ(Endpoint::parse("unix:/tmp/a.sock")->text(), "unix:/tmp/a.sock");
  for (const char* bad : {"", ":", "8081", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "[::1]",
                          "::1:80", "127.0.0.1:65536", "127.0.0.1:99999999999", "unix:"}) {
    const auto endpoint = Endpoint::parse(bad);
    ASSERT_FALSE(endpoint) << bad;
    EXPECT_THAT(endpoint.error(), HasSubstr("expected")) << bad;
  }
  EXPECT_FALSE(Endpoint::parse("unix:" + std::string(200, 'a')));
}

TEST(Endpoint, KnowsWhoCanReachIt) {
  for (const char* local : {"127.0.0.1:1", "127.8.8.8:1", "[::1]:1", "unix:/tmp/a"}) {
    EXPECT_TRUE(Endpoint::parse(local)->is_local()) << local;
  }
  for (const char* open : {"0.0.0.0:1", "*:1", "[::]:1", "192.0.2.1:1", "[2001:db8::1]:1"}) {
    EXPECT_FALSE(Endpoint::parse(open)->is_local()) << open;
  }
}

TEST(Endpoint, SharesItsPortWithItselfOnly) {
  auto first = Endpoint::parse("127.0.0.1:0").value();
  const int one = first.listen().value();
  EXPECT_THAT(first.text(), testing::Not(testing::EndsWith(":0")));
  const int two = first.listen().value();
  auto second = Endpoint::parse(first.text()).value();
  const auto refused = second.listen();
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error(), HasSubstr(first.text() + " is in use"));
  close(one);
  close(two);
}

TEST(Endpoint, TakesOverASocketThatNobodyServes) {
  char pattern[] = "/tmp/headgate-endpoint-XXXXXX";
  const std::filesystem::path directory = mkdtemp(pattern);
  const std::string text = "unix:" + (directory / "a.sock").string();
  auto killed = Endpoint::parse(text).value();
  const int fd = killed.listen().value();
  auto other = Endpoint::parse(text).value();
  EXPECT_FALSE(other.listen()) << "somebody serves it";
  close(fd);  // and its file stays
  const auto taken = other.listen();
  ASSERT_TRUE(taken) << taken.error();
  other.remove();
  close(*taken);
  EXPECT_FALSE(std::filesystem::exists(directory / "a.sock"));
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace headgate::server
