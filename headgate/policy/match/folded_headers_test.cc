#include "headgate/policy/match/folded_headers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headgate/base/testing/allocations.h"

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

std::vector<std::string> values(FoldedHeaders& folded, const Headers& headers,
                                std::string_view name) {
  std::vector<std::string> all;
  EXPECT_FALSE(folded.any(headers, name, [&](std::string_view value) {
    all.emplace_back(value);
    return false;
  }));
  return all;
}

TEST(FoldedHeaders, EachHeaderIsReadOnceForARequest) {
  const CountingHeaders headers({{"accept", "Text/HTML ,\ta"}, {"via", "X"}, {"accept", " B "}});
  FoldedHeaders folded;
  for (int i = 0; i < 100; ++i) {
    EXPECT_THAT(values(folded, headers, "accept"),
                ElementsAre("text/html, a", "b", "text/html, a, b"));
    EXPECT_THAT(values(folded, headers, "via"), ElementsAre("x"));
    EXPECT_THAT(values(folded, headers, "range"), IsEmpty());
  }
  EXPECT_EQ(headers.asked, 3 + 2 + 1);
}

TEST(FoldedHeaders, LinesAreJoinedWithoutEmptyOnes) {
  const CountingHeaders headers({{"via", ""}, {"via", "A"}, {"via", ""}, {"via", "b,c"}});
  FoldedHeaders folded;
  EXPECT_THAT(values(folded, headers, "via"), ElementsAre("", "a", "", "b, c", "a, b, c"));
}

TEST(FoldedHeaders, NothingOfTheLastRequestIsLeft) {
  const CountingHeaders first({{"accept", "a, b, c"}, {"accept", "d"}, {"via", "x"}});
  const CountingHeaders second(CountingHeaders::Lines{{"via", "Y"}});
  FoldedHeaders folded;
  EXPECT_THAT(values(folded, first, "accept"), ElementsAre("a, b, c", "d", "a, b, c, d"));
  folded.clear();
  EXPECT_THAT(values(folded, second, "via"), ElementsAre("y"));
  EXPECT_THAT(values(folded, second, "accept"), IsEmpty());
}

// Each decision that waits has one, so that clients could fill the memory.
TEST(FoldedHeaders, OnlyTheMemoryOfShortRequestsIsKept) {
  const CountingHeaders usual({{"via", "A,b"}, {"via", "c"}});
  const CountingHeaders hostile({{"via", std::string(10'000, 'Y')}, {"via", "c"}});
  FoldedHeaders folded;
  const auto read = [&](const Headers& headers) {
    EXPECT_FALSE(folded.any(headers, "via", [](std::string_view) { return false; }));
    folded.clear();
  };
  read(usual);
  const std::size_t before = allocations();
  read(usual);
  EXPECT_EQ(allocations(), before) << "it was kept";
  for (int i = 0; i < 3; ++i) {
    const std::size_t bytes_before = allocated_bytes();
    read(hostile);
    EXPECT_GE(allocated_bytes(), bytes_before + 20'000) << "it was given back";
  }
}

}  // namespace
}  // namespace headgate::policy
