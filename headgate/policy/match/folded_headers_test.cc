#include "headgate/policy/match/folded_headers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headgate::policy {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Counts how many lines were asked for.
class CountingHeaders final : public Headers {
 public:
  using Lines = std::vector<std::pair<std::string, std::string>>;
  explicit CountingHeaders(Lines lines) : lines_(std::move(lines)) {}

  [[nodiscard]] std::optional<std::string_view> line(std::string_view name,
                                                     std::size_t nth) const noexcept override {
    ++asked;
    for (const auto& [other, value] : lines_) {
      if (other == name && nth-- == 0) return value;
    }
    return std::nullopt;
  }

  mutable int asked = 0;

 private:
  Lines lines_;
};

TEST(FoldedHeaders, EachHeaderIsReadOnceForARequest) {
  const CountingHeaders headers({{"accept", "Text/HTML ,\ta"}, {"via", "X"}, {"accept", " B "}});
  FoldedHeaders folded;
  for (int i = 0; i < 100; ++i) {
    EXPECT_THAT(folded.values(headers, "accept"),
                ElementsAre("text/html, a", "b", "text/html, a, b"));
    EXPECT_THAT(folded.values(headers, "via"), ElementsAre("x"));
    EXPECT_THAT(folded.values(headers, "range"), IsEmpty());
  }
  EXPECT_EQ(headers.asked, 3 + 2 + 1);
}

TEST(FoldedHeaders, NothingOfTheLastRequestIsLeft) {
  const CountingHeaders first({{"accept", "a, b, c"}, {"accept", "d"}, {"via", "x"}});
  const CountingHeaders second(CountingHeaders::Lines{{"via", "Y"}});
  FoldedHeaders folded;
  EXPECT_THAT(folded.values(first, "accept"), ElementsAre("a, b, c", "d", "a, b, c, d"));
  folded.clear();
  EXPECT_THAT(folded.values(second, "via"), ElementsAre("y"));
  EXPECT_THAT(folded.values(second, "accept"), IsEmpty());
}

}  // namespace
}  // namespace headgate::policy
