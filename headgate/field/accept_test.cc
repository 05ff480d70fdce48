#include "headgate/field/accept.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace headgate::field {
namespace {

TEST(Accept, TheMostSpecificRangeDecides) {
  for (const char* yes :
       {"application/problem+json", "*/*", "application/*", "application/json",
        "text/html, application/problem+json;q=0.001", "APPLICATION/Problem+JSON",
        "application/json; charset=utf-8; q=0.5", "*/*;q=0, application/problem+json",
        "application/problem+json;q=0, application/problem+json;q=1",
        "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "*/* ; Q=0.8",
        "application/json;x=\",;q=0\"", "text/html;q=2, */*", "application/json;q=1.000",
        // No media range: no preference.
        "", "  ", ",,", "nonsense", "/", "a/", "application/json;q=x"}) {
    EXPECT_TRUE(accepts_problem_json(yes)) << yes;
  }
  for (const char* no :
       {"text/html", "application/xml, text/*", "application/problem+json;q=0",
        "application/problem+json;q=0, */*", "application/json;q=0.000, application/*",
        "application/*;q=0, */*", "*/*;q=0", "application/problem+xml",
        "text/html;x=\", application/problem+json", R"(text/html;x="\", application/json, ")",
        "*/*;q=0.0"}) {
    EXPECT_FALSE(accepts_problem_json(no)) << no;
  }
}

TEST(Accept, LinesAreOneList) {
  constexpr std::array<std::string_view, 2> lines = {"text/html", "application/json"};
  EXPECT_TRUE(accepts_problem_json(lines));
  EXPECT_TRUE(accepts_problem_json(std::span<const std::string_view>()));
}

TEST(Accept, HostileInputIsLinear) {
  const auto repeated = [](std::string_view part) {
    std::string text;
    while (text.size() < 65536) text += part;
    return text;
  };
  for (const char* part : {",", ";", "\"", "\\\"", "*/*;q=1;", "a/b;q=x,"}) {
    EXPECT_TRUE(accepts_problem_json(repeated(part))) << part;
  }
  for (const char* part : {"a/b,", "a/b;q=0;", "*/*;q=0,"}) {
    EXPECT_FALSE(accepts_problem_json(repeated(part))) << part;
  }
}

}  // namespace
}  // namespace headgate::field
