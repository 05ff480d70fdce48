#include "headgate/cli/fetch/url.h"

#include <gtest/gtest.h>

#include <string>

namespace headgate::cli {
namespace {

TEST(ParseFetchUrl, FindsTheOrigin) {
  const auto url = parse_fetch_url("HTTPS://Api.Example/a/../b?c#d");
  ASSERT_TRUE(url) << url.error();
  EXPECT_EQ(url->origin, "https://api.example:443");
  EXPECT_TRUE(url->text.ends_with("/b?c")) << url->text;
  EXPECT_EQ(parse_fetch_url("http://a:8080/")->origin, "http://a:8080");
  EXPECT_EQ(parse_fetch_url("http://[::1]:80/")->origin, parse_fetch_url("http://[::1]/")->origin);
}

TEST(ParseFetchUrl, ReportsErrors) {
  for (const std::string bad : {"", "a.example/x", "ftp://a/x", "file:///etc/passwd", "http://",
                                "http://a/b c", "http://a/\r\nx", "http://a:99999/", "//a/b"}) {
    const auto url = parse_fetch_url(bad);
    ASSERT_FALSE(url) << bad;
    EXPECT_FALSE(url.error().empty());
  }
}

TEST(ParseFetchUrl, IsBounded) {
  const std::string start = "http://a/";
  const std::string longest = start + std::string(fetch_url_bytes_max - start.size(), 'x');
  EXPECT_TRUE(parse_fetch_url(longest));
  EXPECT_EQ(parse_fetch_url(longest + 'x').error(), "longer than 65536 bytes");
  EXPECT_FALSE(resolve_fetch_url("http://a/", longest + 'x'));
}

TEST(ResolveFetchUrl, ResolvesAgainstTheBase) {
  EXPECT_EQ(resolve_fetch_url("http://a/b/c", "d")->text, "http://a/b/d");
  EXPECT_EQ(resolve_fetch_url("http://a/b/c", "/d?x")->text, "http://a/d?x");
  EXPECT_EQ(resolve_fetch_url("http://a/b/c", "//other/d")->origin, "http://other:80");
  EXPECT_EQ(resolve_fetch_url("http://a/b/c", "https://a/")->origin, "https://a:443");
  EXPECT_FALSE(resolve_fetch_url("http://a/", "file:///etc/passwd"));
}

TEST(Shown, KeepsSecretsAndTerminalsSafe) {
  EXPECT_EQ(shown(*parse_fetch_url("http://me:secret@a/x")), "http://a/x");
  EXPECT_EQ(shown({"http://a/\x1b[2J", "http://a:80"}).find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace headgate::cli
