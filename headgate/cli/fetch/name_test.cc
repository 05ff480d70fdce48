#include "headgate/cli/fetch/name.h"

#include <gtest/gtest.h>

#include <string>

namespace headgate::cli {
namespace {

TEST(FileNameOf, IsTheLastPartOfThePathWithTheQuery) {
  EXPECT_EQ(file_name_of("http://a.example/b/c.json"), "c.json");
  EXPECT_EQ(file_name_of("http://a.example/items?page=2&size=10"), "items_page=2_size=10");
  EXPECT_EQ(file_name_of("http://a.example/b/"), "index");
  EXPECT_EQ(file_name_of("http://a.example"), "index");
  EXPECT_EQ(file_name_of("http://a.example?q=1"), "index_q=1");
}

TEST(FileNameOf, StaysInTheDirectory) {
  for (const std::string url :
       {"http://a/..", "http://a/.", "http://a/.ssh", "http://a/../../etc/passwd",
        "http://a/x?/../y", "http://a/..%2f..%2fetc", "http://a/\\..\\x",
        "http://a/.headgate-fetch"}) {
    const std::string name = file_name_of(url);
    EXPECT_EQ(name.find('/'), std::string::npos) << url;
    EXPECT_EQ(name.find('\\'), std::string::npos) << url;
    EXPECT_FALSE(name.empty() || name.starts_with('.')) << url << " -> " << name;
  }
}

TEST(FileNameOf, IsNeverAnOptionOfACommand) {
  EXPECT_EQ(file_name_of("http://a/-rf"), "_-rf");
  EXPECT_EQ(file_name_of("http://a/--help?-x"), "_--help_-x");
}

TEST(FileNameOf, LongNamesAreCutAndStayDifferent) {
  const std::string base = "http://a/" + std::string(5000, 'x');
  EXPECT_EQ(file_name_of(base + "1").size(), file_name_max);
  EXPECT_NE(file_name_of(base + "1"), file_name_of(base + "2"));
}

TEST(Numbered, KeepsTheExtension) {
  EXPECT_EQ(numbered("a.json", 2), "a-2.json");
  EXPECT_EQ(numbered("a", 3), "a-3");
  EXPECT_EQ(numbered("v1.2_and_much_more", 2), "v1.2_and_much_more-2");
  EXPECT_EQ(numbered(std::string(file_name_max, 'x'), 12).size(), file_name_max);
}

}  // namespace
}  // namespace headgate::cli
