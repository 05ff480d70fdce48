#include "headgate/redis/replies.h"

#include <gtest/gtest.h>

namespace headgate::redis {
namespace {

std::optional<std::string> fault_of(std::string_view bytes) {
  net::RespReplyReader reader;
  EXPECT_EQ(reader.read(bytes), net::RespReplyReader::Found::reply);
  return fault_of_role(reader.reply());
}

TEST(RedisReplies, OnlyTheRoleSaysThatAServerIsAPrimary) {
  EXPECT_EQ(fault_of("*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n"), std::nullopt);
  const std::string replica = "it is a replica; expected the primary";
  EXPECT_EQ(fault_of("*5\r\n$5\r\nslave\r\n$9\r\n127.0.0.1\r\n:6379\r\n$7\r\nconnect\r\n:0\r\n"),
            replica);
  EXPECT_EQ(fault_of("*5\r\n$5\r\nslave\r\n$6\r\nmaster\r\n:6379\r\n$7\r\nconnect\r\n:0\r\n"),
            replica)
      << "its primary's host may have any name";
  EXPECT_EQ(fault_of("*2\r\n$8\r\nsentinel\r\n*1\r\n$6\r\nmaster\r\n"),
            "it is a sentinel; expected 'sentinel: NAME', by which it knows the primary");
}

}  // namespace
}  // namespace headgate::redis
