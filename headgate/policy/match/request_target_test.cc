#include "headgate/policy/match/request_target.h"

#include <gtest/gtest.h>

namespace headgate::policy {
namespace {

std::string path_of(std::string_view raw) {
  std::string buffer;
  const auto target = read_request_target(raw, buffer);
  return target ? std::string(target->path) : "refused";
}

TEST(RequestTarget, PathsAreDecodedAndResolvedAsNginxDoes) {
  const struct {
    const char* raw;
    const char* path;
  } cases[] = {
      {"/", "/"},
      {"/a/b", "/a/b"},
      {"/a/b/", "/a/b/"},
      {"/.well-known/x", "/.well-known/x"},
      {"/a%20b", "/a b"},
      {"/a//b///c", "/a/b/c"},
      {"/a/./b/.", "/a/b/"},
      {"/a/b/../c", "/a/c"},
      {"/a/b/..", "/a/"},
      {"/a/%2e%2E/c", "/c"},
      {"/a%2fb", "/a/b"},
      {"/a/...", "/a/..."},
      {"/a..b", "/a..b"},
      {"/a%3Fb%23c%25", "/a?b#c%"},
      {"/a#b", "/a"},
      {"/..", "refused"},
      {"/a/../../b", "refused"},
      {"/a%", "refused"},
      {"/a%2", "refused"},
      {"/a%zz", "refused"},
      {"/a%00", "refused"},
      {"", "refused"},
      {"*", "refused"},
      {"a/b", "refused"},
      {"http://", "refused"},
      {"http://h", "/"},
      {"http://h/a//b", "/a/b"},
  };
  for (const auto& c : cases) EXPECT_EQ(path_of(c.raw), c.path) << c.raw;
}

TEST(RequestTarget, TheQueryStaysAsItIs) {
  std::string buffer;
  EXPECT_EQ(read_request_target("/a//b?x=%20//&y=?#z", buffer)->query, "x=%20//&y=?");
  EXPECT_EQ(read_request_target("/a?", buffer)->query, "");
  EXPECT_EQ(read_request_target("http://h?x", buffer)->query, "x");
}

TEST(RequestTarget, AnAbsoluteTargetHasAHost) {
  std::string buffer;
  EXPECT_EQ(read_request_target("/a", buffer)->host, "");
  EXPECT_EQ(read_request_target("http://api.example:8080/a", buffer)->host, "api.example");
  EXPECT_EQ(read_request_target("https://[::1]:80/a", buffer)->host, "[::1]");
  EXPECT_EQ(read_request_target("https://[::1]", buffer)->host, "[::1]");
}

}  // namespace
}  // namespace headgate::policy
