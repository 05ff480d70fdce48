// Matching does not allocate after the first request with the longest keys.
#include <gtest/gtest.h>

#include <string>

#include "headgate/base/testing/allocations.h"
#include "headgate/policy/file/load.h"

namespace headgate::policy {
namespace {

class FewHeaders final : public Headers {
 public:
  [[nodiscard]] std::optional<std::string_view> line(std::string_view name,
                                                     std::size_t nth) const noexcept override {
    if (nth > 0) return std::nullopt;
    if (name == "x-forwarded-for") return "203.0.113.5, 2001:db8::7";
    if (name == "forwarded") return "for=203.0.113.5, for=\"[2001:db8::7]\"";
    if (name == "cookie") return "a=b; session=%30123456789abcdef0123456789abcdef";
    if (name == "x-site") return "www.sub.example.co.uk";
    if (name == "x-cost") return "12";
    return std::nullopt;
  }
};

TEST(Allocation, NoneAfterTheFirstRequest) {
  const Loaded loaded = load_text(R"(version: 1
client-address: {trusted-proxies: [10.0.0.0/8]}
policies:
  - {name: global, quota: 1, window: 1s, key: []}
  - {name: client, quota: 1, window: 1s, overrides: [{ids: ["2001:db8::7"], quota: 2}]}
  - name: everything
    quota: 1
    window: 1s
    key: [address/24, "header:x-none", "cookie:session", "query:a key", host, path, method,
          "registered-domain:header:x-site"]
    match: [{path: "/v*/things/*", exact-path: "/V*", method: [PUT, GET], host: "*.example", header: {cookie: "*session*"}}]
    cost: {request-header: x-cost}
    overrides:
      - {ids: [[10.0.0.1, a, b, c, d, e, f, g]], quota: 2}
)",
                                  "test.yaml");
  ASSERT_TRUE(loaded) << loaded.error().front().text();
  const FewHeaders headers;
  const Request request{"GET",
                        "API.Service.Example",
                        "/V1//x/..;y/%74hings/Number;%2f/7/",
                        "x=y&a+key=%20value%20",
                        Address::parse("10.0.0.1"),
                        &headers,
                        100};
  Scratch scratch;
  ASSERT_EQ((*loaded)->match(request, scratch).size(), 3U);
  EXPECT_EQ((*loaded)->match(request, scratch)[1].grant->quota.units, 2U);

  const std::size_t before = allocations();
  const std::size_t found = (*loaded)->match(request, scratch).size();
  EXPECT_EQ(allocations(), before);
  EXPECT_EQ(found, 3U);
  EXPECT_GT(before, 0U);  // the counter counts
}

TEST(Allocation, NoneForAPolicyByName) {
  const Loaded loaded =
      load_text("version: 1\npolicies: [{name: a policy of some length, quota: 1, window: 1s}]\n",
                "test.yaml");
  ASSERT_TRUE(loaded);
  std::string text;
  ASSERT_TRUE((*loaded)->named("a policy of some length", "2001:db8:1:2:3:4:5:6", 1, text));
  const std::size_t before = allocations();
  const bool found =
      (*loaded)->named("a policy of some length", "2001:db8::1", 1, text).has_value();
  EXPECT_EQ(allocations(), before);
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace headgate::policy
