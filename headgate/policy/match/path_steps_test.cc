// Reading a path takes linear time, whatever it is: twice the path takes about twice the steps,
// while a quadratic algorithm would take four times as many.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "headgate/field/testing/steps.h"
#include "headgate/policy/match/path.h"

namespace headgate::policy {
namespace {

constexpr std::size_t size_max = 16'384;  // as much as servers accept

// The steps of all readings of a path of about `size` bytes.
std::size_t steps_to_read(std::string_view start, std::string_view part, std::size_t size) {
  std::string raw(start);
  while (raw.size() + part.size() <= size) raw += part;
  std::string buffer;
  const std::size_t before = field::steps();
  const std::size_t readings = FoldedPath(raw, buffer).readings().size();
  EXPECT_GT(readings, 0u);
  return field::steps() - before;
}

TEST(PathSteps, TwiceThePathTakesAboutTwiceTheSteps) {
  for (const std::string_view part :
       {"a",       "/",         "/a",        "%61",   "%2f",    "/..",    "/a/..", "/../a",
        "a%2f../", "..%20/",    "..%20/q/",  ".%20/", ".. /q/", "%20",    "/%20",  " /",
        ";",       ";x/",       ";%2f",      "/;/..", "\\",     "#",      "#/..",  "%c2%a0/..",
        "\xa0",    "%e2%84%aa", "/%5c..%20", "%3f",   "%",      "/..%3f/"}) {
    for (const std::string_view start : {"/", "//h/", "/x;y/z#/"}) {
      const std::size_t half = steps_to_read(start, part, size_max / 2);
      const std::size_t whole = steps_to_read(start, part, size_max);
      // 2.5 is between linear (2) and quadratic (4). 36 readings have each byte decoded, resolved
      // and trimmed: 2000 steps are far more.
      EXPECT_LT(static_cast<double>(whole), 2.5 * static_cast<double>(half) + 1000.0)
          << start << part;
      EXPECT_LT(whole, size_max * 2000) << start << part;
    }
  }
}

TEST(PathSteps, AreCounted) { EXPECT_GT(steps_to_read("/", "a", 1000), 1000u); }

}  // namespace
}  // namespace headgate::policy
