#include "headgate/cli/partition/problem.h"

#include <gtest/gtest.h>

namespace headgate::cli {
namespace {

TEST(Problem, NamesThePoliciesThatDenied) {
  const auto names = violated_policies(
      R"({"type": "about:blank", "status": 429, "violated-policies": ["burst", "daily"]})");
  ASSERT_TRUE(names) << names.error();
  EXPECT_EQ(*names, (std::vector<std::string>{"burst", "daily"}));
}

TEST(Problem, OtherDocumentsAreRefused) {
  for (const std::string text :
       {"", "burst", "[]", "{}", R"({"violated-policies": []})", R"({"violated-policies": [1]})",
        R"({"violated-policies": "burst"})"}) {
    const auto names = violated_policies(text);
    ASSERT_FALSE(names) << text;
    EXPECT_TRUE(names.error().starts_with("is no problem document of a denial; expected "));
  }
  EXPECT_FALSE(violated_policies(R"({"violated-policies": ["a"]})" + std::string(70'000, ' ')));
}

}  // namespace
}  // namespace headgate::cli
