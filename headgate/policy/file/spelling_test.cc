#include "headgate/policy/file/spelling.h"

#include <gtest/gtest.h>

#include <optional>

namespace headgate::policy {
namespace {

constexpr std::string_view keys[] = {"quota", "window", "rate", "match", "cost", "refund-on"};

TEST(Nearest, OneEditPerThreeLetters) {
  EXPECT_EQ(nearest("quote", keys), "quota");
  EXPECT_EQ(nearest("qouta", keys), "quota");
  EXPECT_EQ(nearest("quotas", keys), "quota");
  EXPECT_EQ(nearest("QUOTA", keys), "quota");
  EXPECT_EQ(nearest("widnow", keys), "window");
  EXPECT_EQ(nearest("refund_on", keys), "refund-on");
  EXPECT_EQ(nearest("mtch", keys), "match");
  EXPECT_EQ(nearest("win", keys), std::nullopt);
  EXPECT_EQ(nearest("limit", keys), std::nullopt);
  EXPECT_EQ(nearest("window", keys), std::nullopt) << "it is not misspelt";
  EXPECT_EQ(nearest("", keys), std::nullopt);
  EXPECT_EQ(nearest("c", keys), std::nullopt);
  EXPECT_EQ(nearest(std::string(100'000, 'q'), keys), std::nullopt);
  constexpr std::string_view close[] = {"abcdefghi", "abcdefghij", "bacdefghij", "abcdefghijk"};
  EXPECT_EQ(nearest("abcdefghjj", close), "abcdefghij");
  EXPECT_EQ(nearest("abcdefgihj", close), "abcdefghij");
  EXPECT_EQ(nearest("xbcdefghik", close), "abcdefghi");
}

TEST(Alternatives, ReadAsASentence) {
  EXPECT_EQ(alternatives({}), "");
  EXPECT_EQ(alternatives(std::span(keys).first(1)), "quota");
  EXPECT_EQ(alternatives(std::span(keys).first(2)), "quota or window");
  EXPECT_EQ(alternatives(std::span(keys).first(3)), "quota, window or rate");
}

TEST(InQuotes, OnlyPrintableCharactersAreCopied) {
  EXPECT_EQ(in_quotes("a b"), "'a b'");
  EXPECT_EQ(in_quotes("\x1b[0m\n\xc3\xa9\x7f"), "'\\x1b[0m\\x0a\\xc3\\xa9\\x7f'");
  EXPECT_EQ(in_quotes(std::string(61, 'x')), "'" + std::string(60, 'x') + "...'");
}

}  // namespace
}  // namespace headgate::policy
