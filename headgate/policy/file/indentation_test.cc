#include "headgate/policy/file/indentation.h"

#include <gtest/gtest.h>

#include <string>

#include "headgate/policy/file/load.h"

namespace headgate::policy {
namespace {

// Returns the only fault of a policy file, without its name.
std::string fault_of(const std::string& text) {
  const Loaded loaded = load_text(text, "f");
  if (loaded) return "none";
  if (loaded.error().size() != 1) return std::to_string(loaded.error().size()) + " faults";
  return loaded.error()[0].text().substr(2);
}

constexpr char head[] = "version: 1\npolicies:\n";

TEST(Indentation, OfAKeyThatIsBetweenTwoBlocks) {
  const std::string text = head;
  EXPECT_EQ(fault_of(text + "  - name: a\n   quota: 1\n"),
            "4:4: 'quota' is indented by 3 spaces; expected 4, like 'name' in line 3");
  EXPECT_EQ(fault_of(text + "  - name: a\n  quota: 1\n"),
            "4:3: 'quota' is indented by 2 spaces; expected 4, like 'name' in line 3");
  EXPECT_EQ(fault_of(text + "  - name: a\n\n    # six a minute\n    quota: 1\n   window: 1\n"),
            "7:4: 'window' is indented by 3 spaces; expected 4, like 'quota' in line 6");
  EXPECT_EQ(fault_of(text + "- name: a\n  match:\n    path: /x\n   method: GET\n"),
            "6:4: 'method' is indented by 3 spaces; expected 4, like 'path' in line 5");
  EXPECT_EQ(fault_of(text + "- name: a\n  match:\n    - path: /x\n    method: GET\n"),
            "6:5: 'method' is indented by 4 spaces; expected 6, like 'path' in line 5");
}

TEST(Indentation, OfAKeyThatContinuesTheValueAboveIt) {
  const std::string text = head;
  EXPECT_EQ(fault_of(text + "  - name: a\n      quota: 1\n"),
            "4:7: 'quota' is indented by 6 spaces; expected 4, like 'name' in line 3");
  EXPECT_EQ(fault_of("version: 1\n client-address:\n"),
            "2:2: 'client-address' is indented by 1 space; expected 0, like 'version' in line 1");
}

TEST(Indentation, OfAnItem) {
  EXPECT_EQ(fault_of(std::string(head) + "- name: a\n  quota: 1\n - name: b\n"),
            "5:2: the '-' is indented by 1 space; expected 0, like the '-' in line 3");
}

TEST(Indentation, IsRightWhereSomethingElseIsWrong) {
  EXPECT_EQ(fault_of("version: 1: 2\n"),
            "1:11: a ':' that starts no value; expected 'key: value' alone on its line, or quotes "
            "around a text with ': '");
  EXPECT_EQ(fault_of(std::string(head) + "  - name: a\n    match:\n      path: a: b\n"),
            "5:14: a ':' that starts no value; expected 'key: value' alone on its line, or quotes "
            "around a text with ': '");
  EXPECT_FALSE(misindented("a: 1\n]\n", 2, false));
  EXPECT_FALSE(misindented("a: 1\n", 1, false));
  EXPECT_FALSE(misindented("a: 1\n", 7, false));
  EXPECT_FALSE(misindented("", 1, true));
}

TEST(Indentation, OfAKeyBehindOneWithoutASpace) {
  const std::string text = head;
  const std::string without_space = "a ':' without a space behind it; expected 'key: value'";
  EXPECT_EQ(fault_of(text + "  - name:a\n\n    quota: 1\n"), "3:9: " + without_space);
  EXPECT_EQ(fault_of("version:1\npolicies: []\n"), "1:8: " + without_space);
  for (const char* const other :
       {"name: a\nrate: 1/s\n", "name\nrate: 1/s\n", "x: >\n  http://x\nrate: 1/s\n",
        "\"name:a\nrate: 1/s\n", "name:a\n  rate: 1/s\n"}) {
    EXPECT_FALSE(unspaced_colon(other, 2)) << other;
    EXPECT_FALSE(unspaced_colon(other, 3)) << other;
  }
}

TEST(Indentation, OfAKeyThatFitsAnotherMap) {
  const std::string text = std::string(head) + "- {name: a, quota: 1, window: 1}\n";
  EXPECT_EQ(fault_of(text + "mode: shadow\n"),
            "4:1: unknown key 'mode' in the file; expected it in a policy, so look at its "
            "indentation");
  EXPECT_EQ(fault_of(text + "key: [address]\n"),  // and not in tls
            "4:1: unknown key 'key' in the file; expected it in a policy, so look at its "
            "indentation");
  EXPECT_EQ(fault_of(text + "store: {memory: 64MiB}\n"),
            "4:9: unknown key 'memory' in store; expected it in table, so look at its indentation");
}

}  // namespace
}  // namespace headgate::policy
