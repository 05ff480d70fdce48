// Policies from several files: their order, and faults where they are.

#include "headgate/policy/file/include.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "headgate/policy/file/load.h"

namespace headgate::policy {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Include : public testing::Test {
 protected:
  Include() { std::filesystem::create_directories(path_ + "/policies.d"); }
  ~Include() override { std::filesystem::remove_all(path_); }

  void write(const std::string& name, const std::string& text) {
    std::ofstream(path_ + "/" + name) << text;
  }
  void write_policy(const std::string& file, const std::string& policy) {
    write(file, "policies: [{name: " + policy + ", quota: 1, window: 1s}]\n");
  }
  Loaded load(const std::string& rest) {
    return load_text("version: 1\n" + rest, path_ + "/headgate.yaml");
  }
  // The names of the policies, or the faults without the directory.
  std::vector<std::string> read(const std::string& rest) {
    const Loaded loaded = load(rest);
    if (loaded) return (*loaded)->names();
    std::vector<std::string> texts;
    for (const Fault& fault : loaded.error())
      texts.push_back(fault.text().substr(path_.size() + 1));
    return texts;
  }

  const std::string path_ =
      (std::filesystem::temp_directory_path() / ("headgate-include-" + std::to_string(getpid())))
          .string();
};

TEST_F(Include, PoliciesComeInTheOrderOfTheirFiles) {
  write_policy("policies.d/b.yaml", "b");
  write_policy("policies.d/a.yaml", "a");
  write_policy("policies.d/B.yaml", "B");
  write_policy("policies.d/c.yml", "c");
  write("one.yaml", "version: 1\nx-note: {a: b}\npolicies: []\n");
  EXPECT_THAT(read("include: [policies.d/*.yaml, one.yaml, \"policies.d/[bc].*\"]\n"
                   "policies: [{name: first, quota: 1, window: 1s}]\n"),
              ElementsAre("first", "B", "a", "b", "c"));
  EXPECT_THAT(read("include: " + path_ + "/policies.d/?.yml\n"), ElementsAre("c"));
  EXPECT_THAT(read("include: [none/*, policies.d/*.conf]\n"), ElementsAre());
}

TEST_F(Include, NamesAreOfAllFiles) {
  write("a.yaml", "policies:\n  - {name: a, quota: 1, window: 1s, match: {path: /a}}\n");
  write("b.yaml", "policies:\n  - {name: b, quota: 1, window: 1s, unless: [a]}\n");
  EXPECT_THAT(read("include: [b.yaml, a.yaml]\n"), ElementsAre("b", "a"));
  write_policy("c.yaml", "a");
  EXPECT_THAT(read("include: [a.yaml, c.yaml]\n"),
              ElementsAre("c.yaml:1:19: duplicate policy name 'a'; expected a unique one, and " +
                          path_ + "/a.yaml:2 has it already"));
}

TEST_F(Include, FaultsAreInTheirFile) {
  write("a.yaml", "policies:\n  - {name: a, quota: many, window: 1s}\n");
  write("b.yaml", "policies: []\nstore: {table: {memory: 1MiB}}\n");
  write("c.yaml", "version: 1\n");
  write("d.yaml", "policies: [\n");
  std::filesystem::create_directory(path_ + "/e.yaml");
  EXPECT_THAT(
      read("include: [none.yaml, \"[a-e].yaml\", 1: 2]\n"),
      ElementsAre(
          HasSubstr("headgate.yaml:2:10: include '" + path_ +
                    "/none.yaml' can't be read: No such file or directory; expected a file"),
          HasSubstr("e.yaml' is no regular file"), HasSubstr("include is a map"),
          HasSubstr("a.yaml:2:22: quota 'many'"),
          HasSubstr("b.yaml:2:1: unknown key 'store' in an included file; expected version"),
          HasSubstr("c.yaml:1:1: an included file has no 'policies'"), HasSubstr("d.yaml:2:1:")));
  EXPECT_THAT(read("include: []\n"), ElementsAre(HasSubstr("include is an empty list")));
  EXPECT_THAT(read("include: \"*.yaml\\0\"\n"),
              ElementsAre(HasSubstr("include contains a byte 0; expected the path of a file")));
}

TEST_F(Include, TenThousandPoliciesAtMost) {
  std::string text = "policies:\n";
  for (std::size_t i = 0; i <= policies_max; ++i) {
    const std::string n = std::to_string(i);
    text += "  - {name: p" + n + ", rate: 1/s, match: {path: /" + n + "}}\n";
  }
  write("many.yaml", text);
  EXPECT_THAT(
      read("include: many.yaml\n"),
      ElementsAre("many.yaml:10002:5: one more policy after 10000; expected at most so many"));
}

TEST_F(Include, AWarningSaysIfTooManyMayApply) {
  std::string text = "policies:\n";
  for (int i = 0; i < 129; ++i) {
    text += "  - {name: p" + std::to_string(i) + ", rate: 1/s, match: {header: {x: a}}}\n";
  }
  const Loaded loaded = load(text);
  ASSERT_TRUE(loaded);
  ASSERT_EQ((*loaded)->warnings().size(), 1u);
  EXPECT_THAT((*loaded)->warnings().front().text(),
              HasSubstr("129 policies may apply to one request; expected at most 128: a request "
                        "that has more is denied"));
}

TEST_F(Include, AWarningCountsAllReadingsOfAPath) {
  std::string text = "policies:\n";
  for (int i = 0; i < 65; ++i) {
    const std::string n = std::to_string(i);
    text += "  - {name: a" + n + ", rate: 1/s, match: {path: '/a/*'}}\n";
    text += "  - {name: b" + n + ", rate: 1/s, match: {path: '/b/*'}}\n";
  }
  const Loaded loaded = load(text);
  ASSERT_TRUE(loaded);
  ASSERT_EQ((*loaded)->warnings().size(), 1u);
  EXPECT_THAT((*loaded)->warnings().front().text(), HasSubstr("130 policies may apply"));
}

}  // namespace
}  // namespace headgate::policy
