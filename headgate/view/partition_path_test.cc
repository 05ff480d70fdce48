#include "headgate/view/partition_path.h"

#include <gtest/gtest.h>

namespace headgate::view {
namespace {

TEST(PartitionPath, IsDecodedOnce) {
  const auto read = [](std::string_view path) { return PartitionPath::read(path, "/v1/state/"); };
  struct Case {
    const char* path;
    const char* policy;
    const char* key;
  };
  for (const Case& the :
       {Case{"/v1/state/burst/10.0.0.2", "burst", "10.0.0.2"},
        Case{"/v1/state/global/", "global", ""}, Case{"/v1/state/a%2Fb/x%2Fy/%7e", "a/b", "x/y/~"},
        Case{"/v1/state/p/%252F%", "p", "%2F%"}, Case{"/v1/state/p/..", "p", ".."}}) {
    const auto got = read(the.path);
    ASSERT_TRUE(got) << the.path;
    EXPECT_EQ(got->policy, the.policy) << the.path;
    EXPECT_EQ(got->key, the.key) << the.path;
  }
  for (const char* path : {"/v1/state/", "/v1/state/burst", "/v1/state//key"}) {
    const auto got = read(path);
    ASSERT_FALSE(got) << path;
    EXPECT_EQ(got.error(),
              "expected /v1/state/POLICY/KEY, percent-encoded; a policy with key: [] has an empty "
              "KEY");
  }
}

}  // namespace
}  // namespace headgate::view
