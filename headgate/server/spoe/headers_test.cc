#include "headgate/server/spoe/headers.h"

#include <gtest/gtest.h>

#include <string>

#include "headgate/net/testing/spoe_frames.h"

namespace headgate::server {
namespace {

TEST(SpoeHeaders, FindsLinesByNameAndNumber) {
  const std::string bytes = net::spoe_headers(
      {{"host", "a.example"}, {"X-Api-Key", "one"}, {"x-empty", ""}, {"x-api-key", "two"}});
  const auto headers = SpoeHeaders::read(bytes);
  ASSERT_TRUE(headers);
  EXPECT_EQ(headers->line("host", 0), "a.example");
  EXPECT_EQ(headers->line("x-api-key", 0), "one");
  EXPECT_EQ(headers->line("x-api-key", 1), "two");
  EXPECT_EQ(headers->line("x-api-key", 2), std::nullopt);
  EXPECT_EQ(headers->line("x-empty", 0), "");
  EXPECT_EQ(headers->line("", 0), std::nullopt);
  EXPECT_EQ(SpoeHeaders().line("host", 0), std::nullopt);
  EXPECT_TRUE(SpoeHeaders::read(net::spoe_headers({})));
}

TEST(SpoeHeaders, RefusesBytesThatAreNone) {
  const std::string whole = net::spoe_headers({{"host", "a.example"}});
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(SpoeHeaders::read(whole.substr(0, size))) << size;
  }
  EXPECT_FALSE(SpoeHeaders::read(whole + "x"));
  EXPECT_FALSE(SpoeHeaders::read("host: a.example\r\n\r\n"));
  EXPECT_FALSE(SpoeHeaders::read(net::spoe_headers({{"", "value"}})));
}

}  // namespace
}  // namespace headgate::server
