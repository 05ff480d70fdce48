#include "headgate/server/http/decide_request.h"

#include <gmock/gmock.h>
#include <rapidcheck.h>

#include <limits>
#include <string>
#include <vector>

#include "headgate/base/json_text.h"

namespace headgate::server {
namespace {

using ::testing::HasSubstr;

struct Refusal {
  unsigned status;
  std::size_t at;
  std::string what;
};

std::optional<Refusal> refusal(std::string_view body) {
  DecideReader reader;
  const auto request = reader.read(body);
  if (request) return std::nullopt;
  return Refusal{request.error().status, request.error().at, request.error().what};
}

TEST(DecideRequestTest, MembersHaveTheirDefaults) {
  DecideReader reader;
  const auto request = reader.read(R"({"checks": [{"policy": "burst"}]})");
  ASSERT_TRUE(request);
  EXPECT_EQ(request->op, limit::Op::spend);
  ASSERT_EQ(request->checks.size(), 1u);
  EXPECT_EQ(request->checks[0].policy, "burst");
  EXPECT_EQ(request->checks[0].key, "");
  EXPECT_EQ(request->checks[0].cost, 1u);
}

TEST(DecideRequestTest, APeekCostsNothingByDefault) {
  DecideReader reader;
  const auto request =
      reader.read(R"({"checks":[{"policy":"a"},{"policy":"b","cost":3}],"op":"peek"})");
  ASSERT_TRUE(request);
  EXPECT_EQ(request->checks[0].cost, 0u);
  EXPECT_EQ(request->checks[1].cost, 3u);
}

TEST(DecideRequestTest, AReservationHasNoOpAndTheCostsOfPolicies) {
  DecideReader reader;
  const auto request =
      reader.read(R"({"checks":[{"policy":"a"},{"policy":"b","cost":3}]})", DecideKind::reserve);
  ASSERT_TRUE(request);
  EXPECT_EQ(request->checks[0].cost, std::nullopt);
  EXPECT_EQ(request->checks[1].cost, 3u);
  EXPECT_EQ(reader.read(R"({"op":"spend"})", DecideKind::reserve).error().what,
            "unknown member 'op'; expected checks");
}

TEST(DecideRequestTest, ReleaseIsARefund) {
  DecideReader reader;
  for (const char* op : {"refund", "release"}) {
    const auto request =
        reader.read(R"({"op":")" + std::string(op) + R"(","checks":[{"policy":"a","cost":2}]})");
    ASSERT_TRUE(request);
    EXPECT_EQ(request->op, limit::Op::refund);
  }
}

TEST(DecideRequestTest, StringsAreUnescaped) {
  DecideReader reader;
  const auto request = reader.read(
      R"({"checks":[{"policy":"\u0061\"\\\/\b\f\n\r\t","key":"\u00e9\u20ac\ud83d\ude00\u0000"}]})");
  ASSERT_TRUE(request);
  EXPECT_EQ(request->checks[0].policy, "a\"\\/\b\f\n\r\t");
  EXPECT_EQ(request->checks[0].key, std::string_view("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\0", 10));
}

TEST(DecideRequestTest, AFaultHasItsOffset) {
  const struct {
    const char* body;
    unsigned status;
    std::size_t at;
    const char* what;
  } cases[] = {
      {"", 400, 0, "expected an object"},
      {"  7", 400, 2, "expected an object"},
      {"{", 400, 1, "expected a member's name in quotes"},
      {"{}", 400, 0, "'checks' is missing"},
      {R"({"checks":[]})", 400, 10, "expected at least one check"},
      {R"({"checks":7})", 400, 10, "expected a list"},
      {R"({"checks":[7]})", 400, 11, "expected an object"},
      {R"({"checks":[{}]})", 400, 11, "'policy' is missing"},
      {R"({"checks":[{"policy":7}]})", 400, 21, "expected a string"},
      {R"({"checks":[{"policy":"a"})", 400, 25, "expected ',' or ']'"},
      {R"({"checks":[{"policy":"a"}])", 400, 26, "expected ',' or '}'"},
      {R"({"checks":[{"policy":"a"}]} x)", 400, 28, "expected nothing more"},
      {R"({"checks":[{"policy":"a"},]})", 400, 26, "expected an object"},
      {R"({"checks":[{"policy":"a",}]})", 400, 25, "expected a member's name in quotes"},
      {R"({"checks":[{"policy" "a"}]})", 400, 21, "expected ':'"},
      {R"({"checks":[{"policy":"a","policy":"b"}]})", 400, 25, "'policy' is given twice"},
      {R"({"checks":[{"policy":"a"}],"checks":[{"policy":"a"}]})", 400, 27,
       "'checks' is given twice"},
      {R"({"chekcs":[]})", 400, 1, "did you mean 'checks'?"},
      {R"({"checks":[{"polycy":"a"}]})", 400, 12, "did you mean 'policy'?"},
      {R"({"checks":[{"hits":"a"}]})", 400, 12, "expected policy, key or cost"},
      {R"({"op":"spent"})", 400, 6, "did you mean 'spend'?"},
      {R"({"op":7})", 400, 6, "expected a string"},
      {R"({"checks":[{"policy":"a","cost":"1"}]})", 400, 32, "expected a number"},
      {R"({"checks":[{"policy":"a","cost":null}]})", 400, 32, "expected a number"},
      {R"({"checks":[{"policy":"a","cost":01}]})", 400, 32, "expected a number"},
      {R"({"checks":[{"policy":"a","cost":1.}]})", 400, 32, "expected a number"},
      {R"({"checks":[{"policy":"a","cost":-1}]})", 422, 32, "expected a whole number"},
      {R"({"checks":[{"policy":"a","cost":1.5}]})", 422, 32, "expected a whole number"},
      {R"({"checks":[{"policy":"a","cost":1e3}]})", 422, 32, "expected a whole number"},
      {R"({"checks":[{"policy":"a","cost":1000000000000000}]})", 422, 32, "999999999999999"},
      {R"({"checks":[{"policy":"a","cost":99999999999999999999999}]})", 422, 32, "999999999999999"},
      {R"({"checks":[{"policy":"a)", 400, 23, "closing quote"},
      {"{\"checks\":[{\"policy\":\"a\nb\"}]}", 400, 23, "escaped control character"},
      {"{\"checks\":[{\"policy\":\"a\xff\"}]}", 400, 23, "UTF-8"},
      {"{\"checks\":[{\"policy\":\"\xc3\"}]}", 400, 23, "UTF-8"},
      {R"({"checks":[{"policy":"\x"}]})", 400, 22, "an escape of JSON"},
      {R"({"checks":[{"policy":"\ud800"}]})", 400, 22, "an escape of JSON"},
      {R"({"checks":[{"policy":"\ud800\u0041"}]})", 400, 22, "an escape of JSON"},
      {R"({"checks":[{"policy":"\udc00"}]})", 400, 22, "an escape of JSON"},
      {R"({"checks":[{"policy":"\u12)", 400, 22, "an escape of JSON"},
  };
  for (const auto& c : cases) {
    const auto refused = refusal(c.body);
    ASSERT_TRUE(refused) << c.body;
    EXPECT_EQ(refused->status, c.status) << c.body;
    EXPECT_EQ(refused->at, c.at) << c.body;
    EXPECT_THAT(refused->what, HasSubstr(c.what)) << c.body;
  }
}

TEST(DecideRequestTest, ABatchHasAsManyChecksAsAFileHasPolicies) {
  const auto batch = [](std::size_t count) {
    std::string body = R"({"checks":[)";
    for (std::size_t i = 0; i < count; ++i) body += R"({"policy":"a"},)";
    body.back() = ']';
    return body + '}';
  };
  EXPECT_FALSE(refusal(batch(policy::policies_per_request_max)));
  const auto refused = refusal(batch(policy::policies_per_request_max + 1));
  ASSERT_TRUE(refused);
  EXPECT_THAT(refused->what, HasSubstr("at most 128 checks"));
}

TEST(DecideRequestTest, EverythingThatIsWrittenIsReadBack) {
  rc::check([] {
    std::vector<std::string> texts =
        *rc::gen::container<std::vector<std::string>>(8, rc::gen::string<std::string>());
    std::string body = R"({"checks":[)";
    std::vector<std::uint64_t> costs;
    for (std::string& text : texts) {
      for (char& c : text) c = static_cast<char>(c & 0x7f);
      costs.push_back(*rc::gen::inRange<std::uint64_t>(0, DecideReader::cost_max + 1));
      body += body.back() == '[' ? R"({"policy":)" : R"(,{"policy":)";
      append_json(body, text);
      body += R"(,"key":)";
      append_json(body, text + "\xc3\xa9");
      body += R"(,"cost":)";
      append_json(body, costs.back());
      body += '}';
    }
    DecideReader reader;
    body += "]}";
    const auto request = reader.read(body);
    RC_ASSERT(request.has_value());
    RC_ASSERT(request->checks.size() == texts.size());
    for (std::size_t i = 0; i < texts.size(); ++i) {
      RC_ASSERT(request->checks[i].policy == texts[i]);
      RC_ASSERT(request->checks[i].key == texts[i] + "\xc3\xa9");
      RC_ASSERT(request->checks[i].cost == costs[i]);
    }
  });
}

}  // namespace
}  // namespace headgate::server
