// Every YAML example in docs/policy-file.md is a valid policy file, or a part of one.
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "headgate/base/testing/source_tree.h"
#include "headgate/policy/file/load.h"

namespace headgate::policy {
namespace {

TEST(Docs, ExamplesAreGood) {
  std::ifstream page(source_tree() / "docs/policy-file.md");
  ASSERT_TRUE(page);
  std::string line;
  std::string example;
  bool inside = false;
  int examples = 0;
  while (std::getline(page, line)) {
    if (inside && line != "```") {
      example += line + "\n";
      continue;
    }
    if (inside) {
      std::string file = example;
      if (example.starts_with("- ")) file = "version: 1\npolicies:\n" + example;
      if (example.starts_with("client-address:")) file = "version: 1\npolicies: []\n" + example;
      const Loaded loaded = load_text(file, "example");
      if (!loaded) ADD_FAILURE() << loaded.error().front().text() << "\n" << file;
      ++examples;
    }
    inside = line == "```yaml";
    example.clear();
  }
  EXPECT_EQ(examples, 15);
}

}  // namespace
}  // namespace headgate::policy
