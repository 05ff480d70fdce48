#include "headgate/policy/match/component.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace headgate::policy {
namespace {

using testing::StartsWith;

std::string complaint(std::string_view component, std::string_view id) {
  return Component::parse(component, {})->complaint(id);
}

// Otherwise it would be that of all requests whose part is not clear.
TEST(ComplaintOfAnId, ThatStandsForNoValue) {
  const std::string missing = "counts as missing; expected a value that all programs read in one ";
  for (const char* const path : {"//static/app.js", "/x#y", "/a/..%2f../b/../c"}) {
    EXPECT_THAT(complaint("path", path), StartsWith(missing)) << path;
  }
  EXPECT_THAT(complaint("header:authorization", "Basic a b"), StartsWith(missing));
  EXPECT_THAT(complaint("registered-domain:header:x", ","), StartsWith(missing));
  for (const char* const path : {"/", "/static/app.js", "/Static//app.js/", "/a;b", "/x%23b", ""}) {
    EXPECT_EQ(complaint("path", path), "") << path;
  }
}

TEST(ComplaintOfAnId, ThatStandsForAllMalformedHosts) {
  for (const char* const component : {"host", "header:host", "registered-domain:header:host"}) {
    for (const char* const host : {"a..b", "u@h", "http://api.example", "*.example", "node.1"}) {
      EXPECT_THAT(complaint(component, host), StartsWith("is a malformed host; expected "))
          << component << ' ' << host;
    }
    for (const char* const host : {"api.example", "API.example.:80", "[::1]", "127.1", "@", ""}) {
      EXPECT_EQ(complaint(component, host), "") << component << ' ' << host;
    }
  }
  EXPECT_EQ(complaint("header:x", "a..b"), "");
}

}  // namespace
}  // namespace headgate::policy
