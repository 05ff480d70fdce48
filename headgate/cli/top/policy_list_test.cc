#include "headgate/cli/top/policy_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headgate::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(PolicyList, NamesPoliciesAndThoseForEveryone) {
  const auto list = PolicyList::parse(
      R"({"file":"p.yaml","policies":[{"name":"all","key":"[]"},{"name":"\u001b","key":"[address]"}]})");
  EXPECT_THAT(list.names, ElementsAre("\\x1b", "all"));
  EXPECT_THAT(list.global, ElementsAre("all"));
}

TEST(PolicyList, IsEmptyForOtherTexts) {
  for (const char* text :
       {"", "{", "[]", "{}", R"({"policies":[{"name":"all","key":"[]"},{"name":1}]})"}) {
    const auto list = PolicyList::parse(text);
    EXPECT_THAT(list.names, IsEmpty()) << text;
    EXPECT_THAT(list.global, IsEmpty()) << text;
  }
}

}  // namespace
}  // namespace headgate::cli
