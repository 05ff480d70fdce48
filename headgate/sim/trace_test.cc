#include "headgate/sim/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headgate/policy/policy_set.h"

namespace headgate::sim {
namespace {

using limit::Op;
using ::testing::HasSubstr;

std::string fault(std::string_view text) {
  const auto line = parse_trace_line(text);
  return line ? "accepted" : line.error();
}

TEST(Trace, ReadsALineWithItsDefaults) {
  const auto line =
      parse_trace_line(R"({"t": 1700000000000000000, "policy": "burst", "key": "a"})");
  ASSERT_TRUE(line) << line.error();
  EXPECT_TRUE(line->at.ns == 1'700'000'000'000'000'000);
  EXPECT_EQ(line->op, Op::spend);
  EXPECT_FALSE(line->several);
  ASSERT_EQ(line->questions.size(), 1u);
  EXPECT_EQ(line->questions[0].policy, "burst");
  EXPECT_EQ(line->questions[0].key, "a");
  EXPECT_EQ(line->questions[0].cost, 1u);
}

TEST(Trace, APeekHasACostOfZeroByDefault) {
  EXPECT_EQ(parse_trace_line(R"({"t":0,"op":"peek","policy":"p"})")->questions[0].cost, 0u);
  EXPECT_EQ(parse_trace_line(R"({"t":0,"op":"peek","policy":"p","cost":3})")->questions[0].cost,
            3u);
  EXPECT_EQ(parse_trace_line(R"({"t":0,"op":"refund","policy":"p"})")->questions[0].cost, 1u);
}

TEST(Trace, TimesAreExactBeyondSixtyFourBitsAndOnBothSidesOfTheEpoch) {
  const i128 big = static_cast<i128>(1'000'001'699'999'999) * 1'000'000'000 + 1;
  EXPECT_TRUE(parse_trace_line(R"({"t":1000001699999999000000001,"policy":"p"})")->at.ns == big);
  EXPECT_TRUE(parse_trace_line(R"({"t":-1000001699999999000000001,"policy":"p"})")->at.ns == -big);
  EXPECT_TRUE(parse_trace_line(R"({"t":-5,"policy":"p"})")->at.ns == -5);
  EXPECT_TRUE(parse_trace_line(R"({"t":18446744073709551615,"policy":"p"})")->at.ns ==
              static_cast<i128>(18446744073709551615u));
}

TEST(Trace, SeveralPoliciesShareAKeyAndACostOrHaveTheirOwn) {
  const auto shared = parse_trace_line(R"({"t":0,"policy":["a","b"],"key":"k","cost":7})");
  ASSERT_TRUE(shared) << shared.error();
  EXPECT_TRUE(shared->several);
  ASSERT_EQ(shared->questions.size(), 2u);
  EXPECT_EQ(shared->questions[1].policy, "b");
  EXPECT_EQ(shared->questions[1].key, "k");
  EXPECT_EQ(shared->questions[1].cost, 7u);
  const auto own = parse_trace_line(R"({"t":0,"policy":["a","b"],"key":["k","l"],"cost":[7,8]})");
  ASSERT_TRUE(own) << own.error();
  EXPECT_EQ(own->questions[0].key, "k");
  EXPECT_EQ(own->questions[1].key, "l");
  EXPECT_EQ(own->questions[0].cost, 7u);
  EXPECT_EQ(own->questions[1].cost, 8u);
}

TEST(Trace, ErrorsSayWhatIsWrongAndWhatWasExpected) {
  const struct {
    const char* line;
    const char* says;
  } cases[] = {
      {"", "expected one object"},
      {"GET / HTTP/1.1", "not JSON"},
      {"[1]", "expected one object"},
      {"7", "expected one object"},
      {R"({"t":1,"policy":"p"} x)", "not JSON"},
      {R"({"policy":"p"})", "\"t\" is missing"},
      {R"({"t":1})", "\"policy\" is missing"},
      {R"({"t":1.5,"policy":"p"})", "whole number of nanoseconds since the epoch, found 1.5"},
      {R"({"t":"1","policy":"p"})", "found a string"},
      {R"({"t":1e30,"policy":"p"})", "found 1e30"},
      {R"({"t":1000000000000000000000000000000000000000000,"policy":"p"})", "nanoseconds"},
      {R"({"t":1,"t":2,"policy":"p"})", "\"t\" is given twice"},
      {R"({"t":1,"policy":"p","key":"a","key":"b"})", "\"key\" is given twice"},
      {R"({"t":1,"policy":"p","costs":2})", "unknown member \"costs\"; expected t, op"},
      {R"({"t":1,"policy":"p","cost":-1})", "from 0 to"},
      {R"({"t":1,"policy":"p","cost":18446744073709551616})", "from 0 to"},
      {R"({"t":1,"policy":"p","cost":1.0})", "whole number"},
      {R"({"t":1,"policy":"p","op":"take"})", "spend, peek, refund or release"},
      {R"({"t":1,"policy":null})", "found null"},
      {R"({"t":1,"policy":{"a":1}})", "found an object"},
      {R"({"t":1,"policy":[]})", "at least one name"},
      {R"({"t":1,"policy":[["a"]]})", "found a list"},
      {R"({"t":1,"policy":["a","b"],"cost":[1]})", "differ in length"},
      {R"({"t":1,"policy":"a","cost":[1]})", "only where \"policy\" is one"},
  };
  for (const auto& c : cases) EXPECT_THAT(fault(c.line), HasSubstr(c.says)) << c.line;
}

TEST(Trace, ListsAreBounded) {
  std::string names = "\"p0\"";
  for (std::size_t i = 1; i < policy::policies_per_request_max; ++i)
    names += ",\"p" + std::to_string(i) + '"';
  EXPECT_EQ(fault(R"({"t":1,"policy":[)" + names + "]}"), "accepted");
  EXPECT_THAT(fault(R"({"t":1,"policy":[)" + names + ",\"q\"]}"),
              HasSubstr("at most " + std::to_string(policy::policies_per_request_max)));
}

}  // namespace
}  // namespace headgate::sim
