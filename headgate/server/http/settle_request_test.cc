#include "headgate/server/http/settle_request.h"

#include <gtest/gtest.h>

#include <string>

namespace headgate::server {
namespace {

TEST(SettleRequest, HasTheReservationAndCosts) {
  SettleReader reader;
  const auto request =
      reader.read(R"( {"costs": {"tokens": 312, "a\u0062": 0}, "reservation": "00ff"} )");
  ASSERT_TRUE(request);
  EXPECT_EQ(request->reservation, "00ff");
  EXPECT_EQ(request->at, 57u);
  ASSERT_EQ(request->costs.size(), 2u);
  EXPECT_EQ(request->costs[0].policy, "tokens");
  EXPECT_EQ(request->costs[0].cost, 312u);
  EXPECT_EQ(request->costs[1].policy, "ab");
  EXPECT_EQ(request->costs[1].cost, 0u);
}

TEST(SettleRequest, MayHaveNoCosts) {
  SettleReader reader;
  ASSERT_TRUE(reader.read(R"({"reservation":"x","costs":{"a":1}})"));
  const auto request = reader.read(R"({"reservation":"x"})");
  ASSERT_TRUE(request);
  EXPECT_TRUE(request->costs.empty());
}

TEST(SettleRequest, FaultsSayWhatAndWhere) {
  struct Case {
    const char* body;
    unsigned status;
    std::size_t at;
    const char* what;
  };
  const Case cases[] = {
      {"", 400, 0, "expected an object"},
      {"{}", 400, 0, "'reservation' is missing: the text that /v1/reserve answered"},
      {R"({"reservation":1})", 400, 15, "expected a string"},
      {R"({"reservation":"a","reservation":"b"})", 400, 19, "'reservation' is given twice"},
      {R"({"reservations":"a"})", 400, 1,
       "unknown member 'reservations'; did you mean 'reservation'?"},
      {R"({"reservation":"a","costs":[]})", 400, 27, "expected an object"},
      {R"({"reservation":"a","costs":{"p":1,"p":2}})", 400, 34, "policy 'p' is given twice"},
      {R"({"reservation":"a","costs":{"p":1.5}})", 422, 32,
       "cost '1.5': expected a whole number of quota units, 0 to 999999999999999"},
      {R"({"reservation":"a","costs":{"p":-1}})", 422, 32,
       "cost '-1': expected a whole number of quota units, 0 to 999999999999999"},
      {R"({"reservation":"a"} x)", 400, 20, "expected nothing more"}};
  SettleReader reader;
  for (const Case& c : cases) {
    const auto request = reader.read(c.body);
    ASSERT_FALSE(request) << c.body;
    EXPECT_EQ(request.error().status, c.status) << c.body;
    EXPECT_EQ(request.error().at, c.at) << c.body;
    EXPECT_EQ(request.error().what, c.what) << c.body;
  }
}

TEST(SettleRequest, HasAsManyCostsAsARequestHasPolicies) {
  const auto body = [](std::size_t count) {
    std::string text = R"({"reservation":"a","costs":{)";
    for (std::size_t i = 0; i < count; ++i) {
      text += (i > 0 ? ",\"p" : "\"p") + std::to_string(i) + "\":1";
    }
    return text + "}}";
  };
  SettleReader reader;
  const auto most = reader.read(body(policy::policies_per_request_max));
  ASSERT_TRUE(most);
  EXPECT_EQ(most->costs.size(), policy::policies_per_request_max);
  EXPECT_EQ(reader.read(body(policy::policies_per_request_max + 1)).error().what,
            "expected at most 128 costs");
}

}  // namespace
}  // namespace headgate::server
