#include "headgate/server/envoy/grpc_head.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace headgate::server {
namespace {

using Fields = std::vector<std::pair<std::string, std::string>>;

const std::string limits = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";

// The head of a call with these fields besides.
GrpcHead head(const Fields& more, const std::string& token = {}, const std::string& path = limits) {
  Secrets secrets;
  secrets.token = token;
  if (!token.empty()) secrets.read_token = "the-token-for-reading";
  GrpcHead made;
  made.take(":method", "POST", secrets);
  made.take(":path", path, secrets);
  made.take("content-type", "application/grpc", secrets);
  for (const auto& [name, value] : more) made.take(name, value, secrets);
  return made;
}

GrpcCode code(const Fields& more, const std::string& token = {}, const std::string& path = limits) {
  Secrets secrets;
  secrets.token = token;
  return head(more, token, path).refusal(secrets).code;
}

TEST(GrpcHead, NamesItsMethod) {
  EXPECT_EQ(head({}).method(), GrpcMethod::should_rate_limit);
  EXPECT_EQ(head({}, {}, "/grpc.health.v1.Health/Check").method(), GrpcMethod::health_check);
  EXPECT_EQ(head({}, {}, "/grpc.health.v1.Health/Watch").method(), GrpcMethod::health_watch);
  EXPECT_EQ(code({}, {}, limits + "/"), GrpcCode::unimplemented);
  EXPECT_EQ(code({}, {}, ""), GrpcCode::unimplemented);
}

TEST(GrpcHead, ShowsTheTokenExactlyOnce) {
  const std::string token = "a-token-of-some-length";
  const auto shown = [](const std::string& value) { return Fields{{"authorization", value}}; };
  EXPECT_EQ(code(shown("Bearer " + token), token), GrpcCode::ok);
  EXPECT_EQ(code(shown("bearer  " + token), token), GrpcCode::ok) << "as at the HTTP door";
  EXPECT_EQ(code({}, token), GrpcCode::unauthenticated);
  for (const std::string& wrong :
       {token, "Bearer " + token + "x", "Bearer " + token.substr(1), std::string("Bearer "),
        std::string(), std::string("Bearer the-token-for-reading")}) {
    EXPECT_EQ(code(shown(wrong), token), GrpcCode::unauthenticated) << wrong;
  }
  Fields twice = shown("Bearer " + token);
  twice.push_back(twice.front());
  EXPECT_EQ(code(twice, token), GrpcCode::unauthenticated);
  EXPECT_EQ(code({}, token, "/grpc.health.v1.Health/Check"), GrpcCode::ok) << "needs none";
}

// Its fields may come long after each other.
TEST(GrpcHead, ATokenThatIsReplacedBeforeTheHeadEndsIsRefused) {
  const std::string token = "a-token-of-some-length";
  const GrpcHead half = head({{"authorization", "Bearer " + token}}, token);
  Secrets secrets;
  secrets.token = "another-token-of-some-length";
  secrets.token_number = Secrets().admin_token_number + 1;
  EXPECT_EQ(half.refusal(secrets).code, GrpcCode::unauthenticated);
}

TEST(GrpcHead, AWrongTokenIsNoMissingOne) {
  const std::string token = "a-token-of-some-length";
  EXPECT_FALSE(head({}, token).shows_wrong_token());
  EXPECT_FALSE(head({{"authorization", "Bearer " + token}}, token).shows_wrong_token());
  EXPECT_FALSE(
      head({{"authorization", "Bearer the-token-for-reading"}}, token).shows_wrong_token());
  EXPECT_FALSE(head({{"authorization", "Basic eDp4"}}, token).shows_wrong_token());
  EXPECT_TRUE(head({{"authorization", "Bearer x"}}, token).shows_wrong_token());
}

TEST(GrpcHead, NamesNoEncoding) {
  EXPECT_EQ(code({{"grpc-encoding", "identity"}}), GrpcCode::ok);
  EXPECT_EQ(code({{"grpc-encoding", "gzip"}}), GrpcCode::unimplemented);
}

TEST(GrpcHead, IsBounded) {
  EXPECT_EQ(code({{"x", std::string(GrpcHead::size_max / 2, 'v')}}), GrpcCode::ok);
  EXPECT_EQ(code({{"x", std::string(GrpcHead::size_max, 'v')}}), GrpcCode::resource_exhausted);
  EXPECT_EQ(code(Fields(GrpcHead::size_max / GrpcHead::field_overhead)),
            GrpcCode::resource_exhausted);
}

TEST(GrpcHead, IsACallOfGrpc) {
  const auto status = [](const std::string& name, const std::string& value) {
    return head({{name, value}}).http_fault();
  };
  EXPECT_EQ(status("content-type", "application/grpc+proto"), std::nullopt);
  EXPECT_EQ(status("content-type", "application/grpc; x=y"), std::nullopt);
  EXPECT_EQ(status("content-type", "application/grpc-web"), 415);
  EXPECT_EQ(status("content-type", "application/json"), 415);
  EXPECT_EQ(status(":method", "GET"), 405);
  EXPECT_EQ(GrpcHead().http_fault(), 405);
}

}  // namespace
}  // namespace headgate::server
