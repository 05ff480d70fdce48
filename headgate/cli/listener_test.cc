#include "headgate/cli/listener.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headgate::cli {
namespace {

using ::testing::HasSubstr;

TEST(Listener, SplitsAddresses) {
  std::string host;
  std::string port;
  ASSERT_TRUE(split_address("127.0.0.1:8080", host, port));
  EXPECT_EQ(host, "127.0.0.1");
  EXPECT_EQ(port, "8080");
  ASSERT_TRUE(split_address("[::1]:0", host, port));
  EXPECT_EQ(host, "::1");
  ASSERT_TRUE(split_address("*:80", host, port));
  EXPECT_EQ(host, "0.0.0.0");
  for (const char* bad : {"", "8080", ":8080", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536",
                          "127.0.0.1:8o", "::1:80", "[]:80", "[::1:80", "a:123456"}) {
    EXPECT_FALSE(split_address(bad, host, port)) << bad;
  }
}

TEST(Listener, PortZeroTakesAFreeOneAndTellsIt) {
  const auto listener = Listener::open("127.0.0.1:0");
  ASSERT_TRUE(listener) << listener.error();
  EXPECT_THAT(listener->address(), ::testing::MatchesRegex("127.0.0.1:[1-9][0-9]*"));
}

TEST(Listener, SaysWhyAnAddressCannotBeHad) {
  const auto first = Listener::open("127.0.0.1:0");
  ASSERT_TRUE(first) << first.error();
  const auto second = Listener::open(first->address());
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error(), HasSubstr(first->address() + " is in use by another program"));
  EXPECT_THAT(Listener::open("192.0.2.1:0").error(), HasSubstr("does not have that address"));
  EXPECT_THAT(Listener::open("nonsense").error(), HasSubstr("expected ADDRESS:PORT"));
}

}  // namespace
}  // namespace headgate::cli
