#include "headgate/base/server_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headgate {
namespace {

using testing::HasSubstr;

TEST(ServerAddress, ReadsHostsAddressesAndSockets) {
  EXPECT_EQ(ServerAddress::parse("redis-1:6379").value(), (ServerAddress{"redis-1", "6379"}));
  EXPECT_EQ(ServerAddress::parse("[::1]:6380").value(), (ServerAddress{"::1", "6380"}));
  EXPECT_EQ(ServerAddress::parse("unix:/run/redis.sock").value(),
            (ServerAddress{"", "/run/redis.sock"}));
  for (const char* text : {"redis-1:6379", "[::1]:6380", "unix:/run/redis.sock"}) {
    EXPECT_EQ(ServerAddress::parse(text).value().text(), text);
  }
}

TEST(ServerAddress, SaysWhatItExpected) {
  const auto fault = [](const std::string& text) { return ServerAddress::parse(text).error(); };
  EXPECT_EQ(fault("redis"), "HOST:PORT, [ADDRESS]:PORT or unix:PATH");
  for (const char* text : {"redis:", "redis:0", "redis:65536", "redis:6379x", "redis:-1"}) {
    EXPECT_THAT(fault(text), HasSubstr("a port from 1 to 65535")) << text;
  }
  EXPECT_THAT(fault("::1:6379"), HasSubstr("in brackets"));
  EXPECT_THAT(fault("[]:6379"), HasSubstr("[ADDRESS]:PORT"));
  EXPECT_THAT(fault("unix:"), HasSubstr("unix:PATH"));
  EXPECT_THAT(fault("unix:/" + std::string(200, 'x')), HasSubstr("107 bytes"));
  EXPECT_THAT(fault(std::string("unix:/a\0b", 9)), HasSubstr("without a byte 0"));
}

}  // namespace
}  // namespace headgate
