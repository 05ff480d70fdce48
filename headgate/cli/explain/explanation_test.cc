#include "headgate/cli/explain/explanation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace headgate::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::int64_t now = 1'700'000'000;  // Tue, 14 Nov 2023 22:13:20 GMT

std::string explained(std::vector<HeaderSection::Line> lines, int status = 200) {
  HeaderSection section;
  section.status = status;
  section.lines = std::move(lines);
  return explanation(section, now);
}

TEST(Explanation, SaysWhatEachFieldMeansThenWhatCountsThenHowLongToWait) {
  EXPECT_EQ(explained({{"Content-Type", "text/html"},
                       {"RateLimit", R"("burst";r=0;t=8)"},
                       {"RateLimit-Policy", R"("burst";q=5;w=10)"}}),
            R"(RateLimit: "burst";r=0;t=8
    "burst": nothing left; more in 8 s

RateLimit-Policy: "burst";q=5;w=10
    "burst": 5 requests in 10 s

What counts: RateLimit, the dialect "ratelimit"
    "burst": nothing left of 5 requests; more in 8 s; window 10 s

Wait 8 s: "burst" has nothing left until then. Then send one request and look at its answer.
)");
}

TEST(Explanation, AResponseWithoutRateLimitsSaysSoAlone) {
  EXPECT_EQ(explained({}), "No field tells of rate limits.\n");
  EXPECT_EQ(explained({{"Server", "x"}, {"Age", "0"}}), "No field tells of rate limits.\n");
}

TEST(Explanation, BeginsWithTheStatusLineAndSaysIfSectionsCameBefore) {
  HeaderSection section;
  section.status_line = "HTTP/2 200";
  section.status = 200;
  EXPECT_THAT(explanation(section, now), StartsWith("HTTP/2 200\n\n"));
  section.before = 2;
  EXPECT_THAT(explanation(section, now),
              StartsWith("HTTP/2 200   (the last of 3 header sections)\n\n"));
}

TEST(Explanation, PointsAtTheByteWhereAFieldIsMalformed) {
  const std::string text = explained({{"RateLimit", R"("a";r=x)"}});
  EXPECT_THAT(text, StartsWith(R"(RateLimit: "a";r=x
               ^
    malformed at byte 5 of the value: expected an integer >= 0 as r
    so this field is ignored as a whole
)"));
  EXPECT_THAT(text, HasSubstr("No field that could be read tells of rate limits.\n"));
  EXPECT_THAT(explained({{"RateLimit", R"("a";r=)"}}),
              HasSubstr("malformed at the end of the value"));
  EXPECT_THAT(explained({{"Retry-After", ""}}), HasSubstr("malformed because it is empty"));
}

TEST(Explanation, PointsAtTheByteOfALongValueThatIsCut) {
  const std::string text = explained({{"RateLimit", R"("a";)" + std::string(200, 'x') + "=!"}});
  const std::size_t value = text.find('\n');
  const std::size_t caret = text.find('^');
  ASSERT_NE(caret, std::string::npos);
  EXPECT_LT(value, 120u) << "the line is too long";
  EXPECT_EQ(text[caret - value - 1], '!');
}

TEST(Explanation, AFaultInOneLineOfAFieldIgnoresItsOtherLines) {
  const std::string text = explained({{"RateLimit", R"("a";r=1)"}, {"ratelimit", "b"}});
  EXPECT_THAT(text, HasSubstr("RateLimit: \"a\";r=1\n"
                              "    ignored, because another line of this field is malformed\n"));
  EXPECT_THAT(text, HasSubstr("ratelimit: b\n           ^\n    malformed at byte 1"));
}

TEST(Explanation, LinesOfOneFieldAreExplainedAtTheLast) {
  const std::string text =
      explained({{"RateLimit", R"("a";r=1;t=2)"}, {"RateLimit", R"("b";r=3)"}});
  EXPECT_THAT(text, StartsWith(R"(RateLimit: "a";r=1;t=2
    goes on in another line

RateLimit: "b";r=3
    "a": 1 left for the next 2 s
    "b": 3 left; not told for how long
)"));
}

TEST(Explanation, SaysWhichDialectWinsAndThatOthersAreNotUsed) {
  const std::string text = explained({{"X-RateLimit-Limit", "10"},
                                      {"X-RateLimit-Remaining", "4"},
                                      {"X-RateLimit-Reset", "1700000060"},
                                      {"RateLimit", R"("p";r=5;t=1)"}});
  EXPECT_THAT(text, HasSubstr("X-RateLimit-Limit: 10\n    the quota is 10 requests\n"
                              "    not used: RateLimit wins\n"));
  EXPECT_THAT(text, HasSubstr("What counts: RateLimit, the dialect \"ratelimit\"\n"));
}

TEST(Explanation, ALimitOfDraft07CountsBesideAPolicyOfLaterDrafts) {
  const std::string text = explained(
      {{"RateLimit", "limit=5, remaining=0, reset=2"}, {"RateLimit-Policy", R"("burst";q=5;w=2)"}});
  EXPECT_THAT(text,
              StartsWith("RateLimit: limit=5, remaining=0, reset=2\n"
                         "    nothing left of 5 requests; more in 2 s (the form of draft 07)\n\n"));
  EXPECT_THAT(text, HasSubstr("RateLimit-Policy: \"burst\";q=5;w=2\n"
                              "    \"burst\": 5 requests in 2 s\n"
                              "    not used: RateLimit wins\n"));
  EXPECT_THAT(text, HasSubstr("Wait 2 s"));
}

TEST(Explanation, AMalformedFieldIsReportedAlsoWhereABetterDialectCounts) {
  const std::string text =
      explained({{"RateLimit", R"("p";r=5;t=1)"}, {"X-RateLimit-Remaining", "many"}});
  EXPECT_THAT(text, AllOf(HasSubstr("malformed at byte 1"), HasSubstr("What counts: RateLimit,")));
}

TEST(Explanation, ReadsTheFormsOfResetFromTheResponsesDateOrFromNow) {
  const auto reset = [](std::vector<HeaderSection::Line> lines) {
    lines.push_back({"X-RateLimit-Remaining", "4"});
    return explained(std::move(lines));
  };
  EXPECT_THAT(reset({{"X-RateLimit-Reset", "47"}}), HasSubstr("    a reset in 47 s\n"));
  EXPECT_THAT(reset({{"X-RateLimit-Reset", "1700000060"}}),
              HasSubstr("    a Unix time: 60 s from now\n"));
  EXPECT_THAT(reset({{"X-RateLimit-Reset", "1699999999"}}),
              HasSubstr("    a Unix time: it has passed\n"));
  EXPECT_THAT(reset({{"X-RateLimit-Reset", "1700000060000"}}),
              HasSubstr("    a Unix time in milliseconds: 60 s from now\n"));
  EXPECT_THAT(
      reset({{"Date", "Tue, 14 Nov 2023 22:14:00 GMT"}, {"X-RateLimit-Reset", "1700000060"}}),
      HasSubstr("    a Unix time: 20 s after Date\n"));
  EXPECT_THAT(reset({{"X-RateLimit-Reset", "2023-11-14T22:13:30Z"}}),
              HasSubstr("    a date: 10 s from now\n"));
}

TEST(Explanation, ReadsOlderDraftsAndSuffixes) {
  EXPECT_THAT(
      explained({{"RateLimit", "limit=10, remaining=0, reset=3"}, {"RateLimit-Policy", "10;w=60"}}),
      AllOf(HasSubstr("(the form of draft 07)\n"),
            HasSubstr("10 requests in 60 s (the form of drafts 06 and 07)\n"),
            HasSubstr("the dialect \"draft-07\"\n")));
  const std::string text = explained({{"X-RateLimit-Limit-Tokens", "100"},
                                      {"X-RateLimit-Remaining-Tokens", "0"},
                                      {"X-RateLimit-Reset-Tokens", "5"},
                                      {"x-ratelimit-reset-tokens", "7"}});
  EXPECT_THAT(text,
              AllOf(HasSubstr("    \"tokens\": the quota is 100 tokens\n"),
                    HasSubstr("    \"tokens\": nothing is left\n"),
                    HasSubstr("    ignored, because another line of this field is malformed\n"),
                    HasSubstr("expected one line of this field\n"),
                    HasSubstr("\"tokens\": nothing left of 100 tokens; not told until when\n")));
}

TEST(Explanation, OfTwoNamesForOneThingTheFirstCounts) {
  for (const char* second : {"7", "many"}) {
    EXPECT_THAT(explained({{"X-RateLimit-Limit-Minute", "5"},
                           {"X-RateLimit-Minute-Limit", second},
                           {"X-RateLimit-Remaining-Minute", "4"}}),
                AllOf(HasSubstr("    not used: X-RateLimit-Limit-Minute comes first\n"),
                      HasSubstr("    \"minute\": 4 of 5 requests left")));
  }
}

TEST(Explanation, ReadsAnthropicsAndAzuresFields) {
  EXPECT_THAT(explained({{"anthropic-ratelimit-tokens-limit", "400000"},
                         {"anthropic-ratelimit-tokens-remaining", "312000"},
                         {"anthropic-ratelimit-tokens-reset", "2023-11-14T22:13:35Z"}}),
              AllOf(HasSubstr("    \"tokens\": the quota is 400000 tokens\n"),
                    HasSubstr("    \"tokens\": 312000 tokens left\n"),
                    HasSubstr("    a date: 15 s from now\n"),
                    HasSubstr("What counts: Anthropic-RateLimit-...")));
  EXPECT_THAT(explained({{"x-ms-ratelimit-remaining-resource", "Microsoft.Compute/GetVM3Min;0"},
                         {"retry-after-ms", "1500"}},
                        429),
              AllOf(HasSubstr("    \"Microsoft.Compute/GetVM3Min\": nothing left"),
                    HasSubstr("    wait 2 s before the next request\n"),
                    HasSubstr("What counts: X-MS-RateLimit-..."),
                    HasSubstr("Wait 2 s: Retry-After says so")));
  EXPECT_THAT(explained({{"Retry-After-Ms", "soon"}}),
              HasSubstr("    malformed at byte 1 of the value: expected milliseconds >= 0\n"));
}

TEST(Explanation, NoLimitOfACachedResponseCounts) {
  const std::string text =
      explained({{"Age", "5"}, {"RateLimit", R"("p";r=0;t=9)"}, {"Retry-After", "3"}});
  EXPECT_THAT(text, AllOf(HasSubstr("Age: 5\n    the response comes from a cache"),
                          HasSubstr("    not used: the response comes from a cache\n"),
                          Not(HasSubstr("What counts"))));
  EXPECT_THAT(text, HasSubstr("Wait 3 s: Retry-After says so.\n"));
}

TEST(Explanation, RetryAfterWins) {
  EXPECT_THAT(
      explained({{"Retry-After", "20"}, {"RateLimit", R"("p";r=0;t=7)"}}, 429),
      HasSubstr("Wait 20 s: Retry-After says so, and it wins over \"p\", which says 7 s.\n"));
  EXPECT_THAT(explained({}, 429), HasSubstr("Wait, but nothing says how long: this is a 429"));
}

TEST(Explanation, ADenialIsOfWhicheverLimitIsUsedUp) {
  const std::string text = explained({{"X-RateLimit-Remaining-Tokens", "0"},
                                      {"X-RateLimit-Reset-Tokens", "6s"},
                                      {"X-RateLimit-Remaining-Requests", "59"}},
                                     429);
  EXPECT_THAT(text, AllOf(HasSubstr("Wait 6 s: \"tokens\" has nothing left until then."),
                          Not(HasSubstr("nothing says how long")), Not(HasSubstr("has to wait"))));
}

TEST(Explanation, ALimitWithUnitsLeftNeedsNoWait) {
  EXPECT_THAT(explained({{"RateLimit", R"("p";r=10;t=5)"}}),
              HasSubstr("No need to wait: at most 10 requests in the next 5 s, says \"p\"; "
                        "spread evenly, one every 0.5 s.\n"));
}

TEST(Explanation, FieldsThatNoDialectHasAreNotRead) {
  EXPECT_THAT(explained({{"X-My-RateLimit", "5"}}),
              HasSubstr("X-My-RateLimit: 5\n    not a field that any dialect knows: not read\n"));
  EXPECT_THAT(explained({{"RateLimit-Reset", "5"}}),
              HasSubstr("    not used: neither a limit nor what is left of it is told\n"));
}

TEST(Explanation, HostileBytesCannotSteerATerminal) {
  HeaderSection section;
  section.status_line = "HTTP/1.1 200 \x1b[2J";
  section.lines = {{"RateLimit\x1b", "\x1b]0;x\x07"},
                   {"RateLimit", "\"\x1b\";r=1"},
                   {"X-RateLimit-Limit", "\xff"}};
  for (const char c : explanation(section, now)) {
    EXPECT_TRUE(c == '\n' || (c >= 0x20 && c <= 0x7e)) << static_cast<int>(c);
  }
}

}  // namespace
}  // namespace headgate::cli
