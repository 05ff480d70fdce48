#include "headgate/server/spoe/messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "headgate/net/testing/spoe_frames.h"

namespace headgate::server {
namespace {

using net::spoe_binary;
using net::spoe_integer;
using net::spoe_message;
using net::spoe_text;
using net::SpoeType;
using testing::HasSubstr;

const std::string headers = net::spoe_headers({{"host", "api.example:8080"}, {"x-key", " me "}});

class SpoeNoticeTest : public testing::Test {
 protected:
  Result<SpoeNotice, std::string> read(std::string payload) {
    payload_ = std::move(payload);
    return SpoeNotice::read(payload_, reader_);
  }
  std::string fault_of(std::string payload) { return read(std::move(payload)).error(); }

 private:
  std::string payload_;
  net::SpoeMessages reader_;
};

TEST_F(SpoeNoticeTest, ReadsARequest) {
  const auto notice =
      read(spoe_message("headgate-request", {{"method", spoe_text("POST")},
                                             {"path", spoe_text("/a/b?x=1")},
                                             {"src", {SpoeType::ipv4, 0, "\x0a\x01\x02\x03"}},
                                             {"headers", spoe_binary(headers)},
                                             {"bytes", spoe_integer(7)}}));
  ASSERT_TRUE(notice) << notice.error();
  EXPECT_FALSE(notice->response);
  const policy::Request request = notice->request->request();
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.path, "/a/b");
  EXPECT_EQ(request.query, "x=1");
  EXPECT_EQ(request.host, "api.example");
  EXPECT_EQ(request.peer, policy::Address::parse("10.1.2.3"));
  EXPECT_EQ(request.headers->value("x-key", 0), "me");
  EXPECT_EQ(request.body_bytes, 7u);
}

TEST_F(SpoeNoticeTest, ReadsWhatARequestLacks) {
  const std::string v6 = std::string(15, '\0') + '\x01';
  const auto notice = read(spoe_message("headgate-request", {{"headers", {}},
                                                             {"method", {}},
                                                             {"path", {}},
                                                             {"host", spoe_text("other:80")},
                                                             {"src", {SpoeType::ipv6, 0, v6}}}));
  ASSERT_TRUE(notice) << notice.error();
  const policy::Request request = notice->request->request();
  EXPECT_EQ(request.path, "/");
  EXPECT_EQ(request.host, "other");
  EXPECT_EQ(request.peer, policy::Address::parse("::1"));
  EXPECT_EQ(request.headers->line("host", 0), std::nullopt);
  EXPECT_EQ(request.body_bytes, std::nullopt);
}

TEST_F(SpoeNoticeTest, ReadsAbsoluteTargetsAndUnixPeers) {
  const auto notice =
      read(spoe_message("headgate-request", {{"method", spoe_text("GET")},
                                             {"path", spoe_text("https://h.example:1/p?q")},
                                             {"src", {}},
                                             {"headers", {}}}));
  ASSERT_TRUE(notice) << notice.error();
  const policy::Request request = notice->request->request();
  EXPECT_EQ(request.path, "/p");
  EXPECT_EQ(request.query, "q");
  EXPECT_EQ(request.host, "h.example");
  EXPECT_EQ(request.peer, std::nullopt);
}

TEST_F(SpoeNoticeTest, ReadsAResponse) {
  const std::string fields = net::spoe_headers({{"x-cost", "5"}});
  const auto notice = read(spoe_message("headgate-response", {{"receipt", spoe_binary("bytes")},
                                                              {"status", spoe_integer(503)},
                                                              {"bytes", spoe_integer(12)},
                                                              {"headers", spoe_binary(fields)}}));
  ASSERT_TRUE(notice) << notice.error();
  EXPECT_FALSE(notice->request);
  EXPECT_EQ(notice->response->receipt(), "bytes");
  const policy::Response response = notice->response->response();
  EXPECT_EQ(response.status, 503u);
  EXPECT_EQ(response.body_bytes, 12u);
  ASSERT_NE(response.headers, nullptr);
  EXPECT_EQ(response.headers->line("x-cost", 0), "5");
}

TEST_F(SpoeNoticeTest, SaysWhatIsWrongInHaproxysConfiguration) {
  EXPECT_EQ(fault_of(spoe_message("headgate-reqest", {})),
            "the message 'headgate-reqest' is unknown; did you mean 'headgate-request'?");
  EXPECT_EQ(fault_of(spoe_message("iprep", {})),
            "the message 'iprep' is unknown; expected headgate-request or headgate-response");
  EXPECT_EQ(fault_of(spoe_message("headgate-request", {{"heders", {}}})),
            "headgate-request: the argument 'heders' is unknown; did you mean 'headers'?");
  EXPECT_EQ(fault_of(spoe_message("headgate-request", {{"method", {}}, {"path", {}}, {"src", {}}})),
            "headgate-request: expected the argument headers=req.hdrs_bin");
  EXPECT_EQ(fault_of(spoe_message("headgate-request", {{"src", spoe_text("10.0.0.1")}})),
            "headgate-request: expected the argument src=src, but it has another type");
  EXPECT_EQ(fault_of(spoe_message("headgate-response", {{"status", {}}})),
            "headgate-response: expected the argument receipt=var(txn.headgate.receipt)");
}

TEST_F(SpoeNoticeTest, RefusesMalformedFrames) {
  const std::string response = spoe_message("headgate-response", {{"receipt", {}}, {"status", {}}});
  EXPECT_THAT(fault_of(""), HasSubstr("no message"));
  EXPECT_THAT(fault_of(response + response), HasSubstr("twice"));
  EXPECT_THAT(fault_of(response + "x"), HasSubstr("malformed"));
  EXPECT_THAT(
      fault_of(spoe_message("headgate-response",
                            {{"receipt", {}}, {"status", {}}, {"headers", spoe_binary("x")}})),
      HasSubstr("the argument headers is malformed"));
}

}  // namespace
}  // namespace headgate::server
