#include "headgate/policy/match/request_target.h"

#include <gtest/gtest.h>

namespace headgate::policy {
namespace {

TEST(RequestTarget, PathAndQueryStayAsTheyAre) {
  const struct {
    const char* raw;
    const char* path;
    const char* query;
  } cases[] = {
      {"/", "/", ""},
      {"/a//b/../c%2F", "/a//b/../c%2F", ""},
      {"/a?x=%20//&y=?", "/a", "x=%20//&y=?"},
      {"/a?", "/a", ""},
      {"http://h", "/", ""},
      {"http://h?x", "/", "x"},
      {"http://h/a//b", "/a//b", ""},
  };
  for (const auto& c : cases) {
    const auto target = read_request_target(c.raw);
    ASSERT_TRUE(target) << c.raw;
    EXPECT_EQ(target->path, c.path) << c.raw;
    EXPECT_EQ(target->query, c.query) << c.raw;
    EXPECT_TRUE(target->well_formed) << c.raw;
  }
  for (const char* const raw : {"", "*", "a/b", "http://", "http:///a", "http://#"}) {
    EXPECT_FALSE(read_request_target(raw)) << raw;
  }
}

TEST(RequestTarget, APathBeginsWithASlash) {
  EXPECT_EQ(read_request_target("http://h#x")->path, "/");
  EXPECT_EQ(read_request_target("http://h#/x?y")->query, "");
  EXPECT_EQ(read_request_target("http://h/#x")->path, "/#x");
}

TEST(RequestTarget, KnowsWhatNginxRefuses) {
  for (const char* const raw : {"/a#", "/a?b#c", "http://h#x", "/..", "/a/../../b", "/a/%2e%2E/..",
                                "/a%", "/a%2", "/a%zz", "/a%00", "/a%2f../..", "//.."}) {
    EXPECT_FALSE(read_request_target(raw)->well_formed) << raw;
  }
  for (const char* const raw : {"/a/..", "/a/b/../..", "/...", "/..a", "/a/./..", "/a%2f..", "/.",
                                "/a%25", "/a/.b/../.."}) {
    EXPECT_TRUE(read_request_target(raw)->well_formed) << raw;
  }
}

TEST(RequestTarget, AnAbsoluteTargetHasAHost) {
  EXPECT_EQ(read_request_target("/a")->host, "");
  EXPECT_EQ(read_request_target("http://api.example:8080/a")->host, "api.example");
  EXPECT_EQ(read_request_target("https://[::1]:80/a")->host, "[::1]");
  EXPECT_EQ(read_request_target("https://[::1]")->host, "[::1]");
}

}  // namespace
}  // namespace headgate::policy
