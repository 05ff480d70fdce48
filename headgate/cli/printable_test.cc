#include "headgate/cli/printable.h"

#include <gtest/gtest.h>

namespace headgate::cli {
namespace {

TEST(Printable, EscapesControlCharacters) {
  EXPECT_EQ(printable("a \x1b[2J\x7f\xc3\xa9\t"), "a \\x1b[2J\\x7f\\xc3\\xa9\\x09");
}

TEST(Excerpt, ShowsTheSurroundingsOfAByte) {
  EXPECT_EQ(excerpt("abc", 1).text, "abc");
  EXPECT_EQ(excerpt("abc", 1).column, 1u);
  EXPECT_EQ(excerpt("abc", 9).column, 3u);
  EXPECT_EQ(excerpt("\xff!", 1).column, 4u);
  const std::string text = std::string(100, 'x') + '!' + std::string(100, 'y');
  const Excerpt cut = excerpt(text, 100);
  EXPECT_EQ(cut.text[cut.column], '!');
  EXPECT_TRUE(cut.text.starts_with("...x") && cut.text.ends_with("y..."));
  EXPECT_EQ(excerpt(text).text, std::string(90, 'x') + "...");
}

TEST(SecondsInWords, LongTimesHaveLargerUnits) {
  EXPECT_EQ(seconds_in_words(0), "0 s");
  EXPECT_EQ(seconds_in_words(119), "119 s");
  EXPECT_EQ(seconds_in_words(120), "120 s (2 min)");
  EXPECT_EQ(seconds_in_words(86'383), "86383 s (23 h 59 min 43 s)");
  EXPECT_EQ(seconds_in_words(604'800), "604800 s (7 d)");
  EXPECT_EQ(seconds_in_words(999'999'999'999'999), "999999999999999 s (more than a century)");
}

TEST(Base64, IsPadded) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("\x01"), "AQ==");
  EXPECT_EQ(base64("trial121323"), "dHJpYWwxMjEzMjM=");
}

}  // namespace
}  // namespace headgate::cli
