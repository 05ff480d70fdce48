#include "headgate/cli/gateway/template.h"

#include <gtest/gtest.h>

namespace headgate::cli {
namespace {

TEST(Template, ReplacesPlaceholdersByValues) {
  EXPECT_EQ(fill_template("a @x@, @y@;\n", {{"x", {"1"}}, {"y", {"2"}}}), "a 1, 2;\n");
  EXPECT_EQ(fill_template("a@x@\n", {{"x", {}}}), "a\n");
}

TEST(Template, RepeatsABlockOncePerValue) {
  constexpr char text[] = "begin\n@each x\n  x @x@ of @y@\n@end\nend\n";
  EXPECT_EQ(fill_template(text, {{"x", {}}, {"y", {"9"}}}), "begin\nend\n");
  EXPECT_EQ(fill_template(text, {{"x", {"1", "2"}}, {"y", {"9"}}}),
            "begin\n  x 1 of 9\n  x 2 of 9\nend\n");
}

TEST(Template, LeavesOutComments) { EXPECT_EQ(fill_template("@# note @x@\na\n", {}), "a\n"); }

TEST(Template, ValuesAreNotReadAsATemplate) {
  EXPECT_EQ(fill_template("@x@\n", {{"x", {"@y@"}}, {"y", {"2"}}}), "@y@\n");
}

}  // namespace
}  // namespace headgate::cli
