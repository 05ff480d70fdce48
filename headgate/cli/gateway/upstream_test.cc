#include "headgate/cli/gateway/upstream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headgate::cli {
namespace {

TEST(Upstream, ReadsAUrl) {
  const struct {
    const char* url;
    bool tls;
    const char* host;
    std::uint16_t port;
    const char* path;
    const char* canonical;
  } cases[] = {
      {"http://api", false, "api", 80, "", "http://api"},
      {"HTTP://api/", false, "api", 80, "", "http://api"},
      {"http://127.0.0.1:3000", false, "127.0.0.1", 3000, "", "http://127.0.0.1:3000"},
      {"http://[::1]:3000/v1/", false, "[::1]", 3000, "/v1", "http://[::1]:3000/v1"},
      {"https://api.example", true, "api.example", 443, "", "https://api.example"},
      {"https://api.example:80/a%20b", true, "api.example", 80, "/a%20b",
       "https://api.example:80/a%20b"},
  };
  for (const auto& c : cases) {
    const auto upstream = parse_upstream(c.url);
    ASSERT_TRUE(upstream) << upstream.error();
    EXPECT_EQ(upstream->tls, c.tls) << c.url;
    EXPECT_EQ(upstream->host, c.host) << c.url;
    EXPECT_EQ(upstream->port, c.port) << c.url;
    EXPECT_EQ(upstream->path, c.path) << c.url;
    EXPECT_EQ(upstream->url(), c.canonical) << c.url;
  }
}

TEST(Upstream, ReportsErrors) {
  const struct {
    const char* url;
    const char* says;
  } cases[] = {
      {"", "expected http://HOST"},
      {"localhost:3000", "expected http://HOST"},
      {"ftp://api", "expected http://HOST"},
      {"http://", "the host is missing"},
      {"http://:80", "the host is missing"},
      {"http://api:", "a port from 1 to 65535"},
      {"http://api:0", "a port from 1 to 65535"},
      {"http://api:65536", "a port from 1 to 65535"},
      {"http://api:80x", "a port from 1 to 65535"},
      {"http://[::1", "IPv6"},
      {"http://[localhost]", "IPv6"},
      {"http://[::1]x", "a port from 1 to 65535"},
      {"http://user:secret@api", "user name"},
      {"http://api/?q=1", "neither query nor fragment"},
      {"http://api#x", "neither query nor fragment"},
      {"http://api/a b", "percent-encoded"},
      {"http://api/;}", "percent-encoded"},
      {"http://api/$host", "percent-encoded"},
      {"http://a;b", "letters, digits"},
  };
  for (const auto& c : cases) {
    const auto upstream = parse_upstream(c.url);
    ASSERT_FALSE(upstream) << c.url;
    EXPECT_THAT(upstream.error(), ::testing::HasSubstr(c.says));
    EXPECT_THAT(upstream.error(), ::testing::HasSubstr(c.url));
  }
}

TEST(Upstreams, CountsAddressesOfAllHosts) {
  EXPECT_EQ(count_addresses({*parse_upstream("http://127.0.0.1:1")}), 1);
  EXPECT_EQ(count_addresses(*parse_upstreams({"http://127.0.0.1:1", "http://[::1]:2"})), 2);
  EXPECT_GE(count_addresses({*parse_upstream("http://localhost")}), 1);
  EXPECT_EQ(count_addresses({*parse_upstream("http://no..name")}), 1) << "nginx reports it";
}

}  // namespace
}  // namespace headgate::cli
