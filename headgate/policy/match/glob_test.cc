#include "headgate/policy/match/glob.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <string_view>

namespace headgate::policy {
namespace {

TEST(Glob, Table) {
  struct Case {
    std::string_view pattern;
    std::string_view text;
    bool matches;
  };
  const Case cases[] = {{"/v1/*", "/v1/", true},
                        {"/v1/*", "/v1/a/b", true},
                        {"/v1/*", "/v1", false},
                        {"/v1/*", "/V1/a", false},
                        {"*", "", true},
                        {"*", "anything", true},
                        {"", "", true},
                        {"", "a", false},
                        {"a*a", "a", false},
                        {"a*a", "aa", true},
                        {"a*a", "aba", true},
                        {"*.example", "api.example", true},
                        {"*.example", ".example", true},
                        {"*.example", "example", false},
                        {"/*/users/*", "/v1/users/7", true},
                        {"/*/users/*", "/users/7", false},
                        {"a**b", "ab", true},
                        {"*ab*ab*", "abab", true},
                        {"*ab*ab*", "aab", false},
                        {"*aab*b", "aabb", true},
                        {"*a*", std::string_view(), false},
                        {"**", std::string_view(), true},
                        {"a?c", "abc", false},
                        {"a?c", "a?c", true},
                        {"[a]", "a", false},
                        {"\\*", "\\x", true}};
  for (const Case& c : cases) {
    EXPECT_EQ(Glob(c.pattern).matches(c.text), c.matches) << c.pattern << " " << c.text;
  }
}

// The contract of the header, implemented literally and slowly.
bool slow(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] != '*') {
    return !text.empty() && text[0] == pattern[0] && slow(pattern.substr(1), text.substr(1));
  }
  for (std::size_t n = 0; n <= text.size(); ++n) {
    if (slow(pattern.substr(1), text.substr(n))) return true;
  }
  return false;
}

RC_GTEST_PROP(Glob, AgreesWithASlowReference, ()) {
  const auto pattern =
      *rc::gen::resize(10, rc::gen::container<std::string>(rc::gen::element('a', 'b', '*')));
  const auto text =
      *rc::gen::resize(12, rc::gen::container<std::string>(rc::gen::element('a', 'b')));
  RC_CLASSIFY(slow(pattern, text), "matches");
  RC_ASSERT(Glob(pattern).matches(text) == slow(pattern, text));
}

TEST(Glob, NoPatternIsSlow) {
  std::string pattern;
  for (int i = 0; i < 2000; ++i) pattern += "*a";
  EXPECT_FALSE(Glob(pattern + "*b").matches(std::string(8192, 'a')));
  EXPECT_TRUE(Glob(pattern).matches(std::string(8192, 'a')));
}

}  // namespace
}  // namespace headgate::policy
