#include "headgate/server/spoe/headers.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

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

TEST(SpoeHeaders, FindsLinesInAnyOrder) {
  const std::string bytes = net::spoe_headers({{"a", "1"}, {"b", "2"}, {"A", "3"}, {"b", "4"}});
  const auto headers = SpoeHeaders::read(bytes).value();
  for (const std::size_t nth : {0u, 1u, 2u, 1u, 2u, 0u, 0u, 2u, 1u}) {
    const auto one_of = [nth](std::initializer_list<std::string_view> values) {
      return nth < values.size() ? std::optional(values.begin()[nth]) : std::nullopt;
    };
    EXPECT_EQ(headers.line("a", nth), one_of({"1", "3"})) << nth;
    EXPECT_EQ(headers.line("b", nth), one_of({"2", "4"})) << nth;
    EXPECT_EQ(headers.line("b", nth + 1), nth == 0 ? std::optional("4") : std::nullopt) << nth;
  }
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
