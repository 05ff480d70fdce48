#include "headgate/cli/gateway/nginx_conf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headgate/policy/file/load.h"

namespace headgate::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

NginxPlan plan(const char* url) {
  NginxPlan plan;
  plan.module = "/opt/it's \"here\"\\m.so";
  plan.policy_file = "/etc/policy.yaml";
  plan.listen = "127.0.0.1:8080";
  plan.upstreams = {*parse_upstream(url)};
  plan.authorities = "/ca.crt";
  return plan;
}

TEST(NginxConf, QuotesPaths) {
  EXPECT_THAT(nginx_conf(plan("http://api")),
              HasSubstr("load_module \"/opt/it's \\\"here\\\"\\\\m.so\";"));
}

TEST(NginxConf, PassesTheRequestLineUntouched) {
  EXPECT_THAT(nginx_conf(plan("http://api")), HasSubstr("proxy_pass http://headgate_upstream;"));
  EXPECT_THAT(nginx_conf(plan("http://api/v1")),
              HasSubstr("proxy_pass http://headgate_upstream/v1$request_uri;"));
}

TEST(NginxConf, ATlsUpstreamIsVerifiedByItsName) {
  EXPECT_THAT(nginx_conf(plan("http://api")), Not(HasSubstr("proxy_ssl")));
  const std::string tls = nginx_conf(plan("https://api.example:8443"));
  EXPECT_THAT(tls, HasSubstr("server api.example:8443;"));
  EXPECT_THAT(tls, HasSubstr("proxy_pass https://headgate_upstream;"));
  EXPECT_THAT(tls, HasSubstr("proxy_ssl_server_name on;"));
  EXPECT_THAT(tls, HasSubstr("proxy_ssl_name \"api.example\";"));
  EXPECT_THAT(tls, HasSubstr("proxy_ssl_verify on;"));
}

TEST(NginxConf, SeveralUpstreamsTakeTurnsForAllWorkers) {
  EXPECT_THAT(nginx_conf(plan("http://api")), Not(HasSubstr("zone headgate_upstream")));
  NginxPlan with = plan("http://a:1");
  with.upstreams = *parse_upstreams({"http://a:1/v1", "http://[::1]:2/v1/"});
  with.upstream_addresses = 2;
  const std::string text = nginx_conf(with);
  EXPECT_THAT(text, HasSubstr("zone headgate_upstream 288k;"));
  EXPECT_THAT(text, HasSubstr("    server a:1;\n    server [::1]:2;\n"));
  EXPECT_THAT(text, HasSubstr("proxy_pass http://headgate_upstream/v1$request_uri;"));
}

TEST(NginxConf, SeveralAddressesHaveSparesForWhenAllAreLeftOut) {
  NginxPlan with = plan("http://localhost:3000");
  const std::string one = nginx_conf(with);  // which nginx never leaves out
  EXPECT_THAT(one, HasSubstr("    server localhost:3000;\n"));
  EXPECT_THAT(one, Not(HasSubstr("backup")));
  EXPECT_THAT(one, Not(HasSubstr("proxy_next_upstream_tries")));
  with.upstream_addresses = 3;
  const std::string several = nginx_conf(with);
  EXPECT_THAT(several, HasSubstr("    server localhost:3000;\n"));
  EXPECT_THAT(several, HasSubstr("    server localhost:3000 backup max_fails=0;\n"));
  EXPECT_THAT(several, HasSubstr("proxy_next_upstream_tries 3;"));
  EXPECT_THAT(several, HasSubstr("zone headgate_upstream 304k;"));
}

TEST(NginxConf, ServesTlsAndHttp2InTheWordsOfThatNginx) {
  NginxPlan with = plan("http://api");
  EXPECT_THAT(nginx_conf(with), HasSubstr("    listen 127.0.0.1:8080;\n"));
  EXPECT_THAT(nginx_conf(with), Not(HasSubstr("http2")));
  EXPECT_THAT(nginx_conf(with), Not(HasSubstr("ssl_certificate")));
  with.tls_cert = "/etc/my certs/a.pem";
  with.tls_key = "/etc/my certs/a.key";
  EXPECT_THAT(nginx_conf(with), HasSubstr("listen 127.0.0.1:8080 ssl http2;"));
  EXPECT_THAT(nginx_conf(with), HasSubstr("ssl_certificate \"/etc/my certs/a.pem\";"));
  EXPECT_THAT(nginx_conf(with), HasSubstr("ssl_certificate_key \"/etc/my certs/a.key\";"));
  with.http2_directive = true;
  EXPECT_THAT(nginx_conf(with), HasSubstr("listen 127.0.0.1:8080 ssl;\n    http2 on;"));
  EXPECT_THAT(nginx_conf(with), Not(HasSubstr("ssl_object_cache_inheritable")));
  with.keeps_certificates = true;
  EXPECT_THAT(nginx_conf(with), HasSubstr("\nssl_object_cache_inheritable off;"));
}

TEST(NginxConf, OldWorkersFinishTheirRequestsUnlessDrainIsSet) {
  NginxPlan with = plan("http://api");
  EXPECT_THAT(nginx_conf(with), Not(HasSubstr("worker_shutdown_timeout")));
  with.drain = 90 * nanos_per_second;
  EXPECT_THAT(nginx_conf(with), HasSubstr("worker_shutdown_timeout 90000ms;"));
  with.drain = 1;
  EXPECT_THAT(nginx_conf(with), HasSubstr("worker_shutdown_timeout 1ms;"));
}

TEST(NginxConf, BodiesAreForwardedWhileTheyArriveOrAreBounded) {
  NginxPlan with = plan("http://api");
  EXPECT_THAT(nginx_conf(with), HasSubstr("proxy_request_buffering off;"));
  EXPECT_THAT(nginx_conf(with), HasSubstr("client_max_body_size 0;"));
  with.body_max = 1 << 20;
  EXPECT_THAT(nginx_conf(with), HasSubstr("proxy_request_buffering on;"));
  EXPECT_THAT(nginx_conf(with), HasSubstr("client_max_body_size 1048576;"));
  EXPECT_THAT(nginx_conf(with), Not(HasSubstr("client_max_body_size 0;")));
}

TEST(NginxConf, WhoSendsLittleIsBounded) {
  NginxPlan with = plan("http://api");
  with.connections_per_address = 7;
  EXPECT_THAT(nginx_conf(with), HasSubstr("headgate_connections_per_address 7;"));
  EXPECT_THAT(nginx_conf(with), HasSubstr("client_header_timeout 10s;"));
  EXPECT_THAT(nginx_conf(with), HasSubstr("reset_timedout_connection on;"));
}

TEST(NginxConf, UnreadResponsesAreBounded) {
  NginxPlan with = plan("http://api");
  EXPECT_THAT(nginx_conf(with), HasSubstr("send_timeout 60000ms;"));
  EXPECT_THAT(nginx_conf(with), HasSubstr("proxy_max_temp_file_size 0;"));
  with.unread_timeout = nanos_per_second;
  EXPECT_THAT(nginx_conf(with), HasSubstr("send_timeout 1000ms;"));
}

TEST(NginxConf, ASilentUpstreamIsGivenUp) {
  NginxPlan with = plan("http://api");
  EXPECT_THAT(nginx_conf(with), HasSubstr("proxy_connect_timeout 5000ms;"));
  EXPECT_THAT(nginx_conf(with), HasSubstr("proxy_read_timeout 60000ms;"));
  with.response_timeout = 3600 * nanos_per_second;
  EXPECT_THAT(nginx_conf(with), HasSubstr("proxy_read_timeout 3600000ms;"));
  EXPECT_THAT(nginx_conf(with), HasSubstr("proxy_send_timeout 3600000ms;"));
  with.response_timeout = 2 * nanos_per_second;
  EXPECT_THAT(nginx_conf(with), HasSubstr("proxy_connect_timeout 2000ms;"));
}

TEST(NginxConf, ListsTrustedProxies) {
  NginxPlan with = plan("http://api");
  with.trusted_proxies = {*policy::AddressBlock::parse("10.0.0.0/8"),
                          *policy::AddressBlock::parse("::1"),
                          *policy::AddressBlock::parse("10.1.0.0/8")};
  EXPECT_THAT(nginx_conf(with), HasSubstr("trusted {\n    10.0.0.0/8 1;\n    ::1 1;\n  }"));
}

TEST(NginxConf, TheUpstreamGetsHeadersAsTheyWereCounted) {
  const auto policies = policy::load_text(
      "version: 1\npolicies: [{name: a, rate: 1/s, key: ['header:X-Api-Key', 'header:host', "
      "'cookie:sid', 'header:x$y'], match: [{header: {x-plan: free}}]}]",
      "test.yaml");
  ASSERT_TRUE(policies);
  NginxPlan with = plan("http://api");
  with.follow(**policies);
  EXPECT_THAT(with.counted_headers, ::testing::ElementsAre("x-api-key", "x-plan"));
  EXPECT_THAT(nginx_conf(with),
              HasSubstr("      proxy_set_header x-api-key $headgate_http_x_api_key;\n"
                        "      proxy_set_header x-plan $headgate_http_x_plan;\n"));
}

TEST(NginxConf, OptionalPartsAppearOnlyIfSet) {
  const std::string bare = nginx_conf(plan("http://api"));
  EXPECT_THAT(bare, HasSubstr("access_log off;"));
  EXPECT_THAT(bare, Not(HasSubstr("\nuser ")));
  EXPECT_THAT(bare, Not(HasSubstr("headgate_metrics")));
  EXPECT_THAT(bare, Not(HasSubstr("headgate_overrides")));
  NginxPlan full = plan("http://api");
  full.access_log = "/var/log/x";
  full.logged_headers = {R"("http_x_plan":"$headgate_http_x_plan")"};
  full.user = "www-data www-data";
  full.metrics = "127.0.0.1:9090";
  const std::string text = nginx_conf(full);
  EXPECT_THAT(text, HasSubstr("access_log \"/var/log/x\" headgate;"));
  EXPECT_THAT(text, HasSubstr("'\"http_x_plan\":\"$headgate_http_x_plan\",'\n"));
  full.logs_json = true;
  EXPECT_THAT(nginx_conf(full), HasSubstr("access_log \"/var/log/x\" headgate_json;"));
  EXPECT_THAT(text, HasSubstr("user www-data www-data;"));
  EXPECT_THAT(text, HasSubstr("listen 127.0.0.1:9090;"));
  EXPECT_THAT(text, HasSubstr("headgate_metrics;"));
  EXPECT_THAT(text, HasSubstr("headgate_dashboard;"));
  EXPECT_THAT(text, Not(HasSubstr("headgate_admin_token_file")));
  full.admin_token_file = "/etc/a token";
  full.overrides_file = "/var/lib/x";
  EXPECT_THAT(nginx_conf(full),
              HasSubstr("headgate_dashboard; headgate_admin_token_file \"/etc/a token\";\n"));
  EXPECT_THAT(nginx_conf(full), HasSubstr("headgate_overrides \"/var/lib/x\";"));
}

TEST(NginxConf, ALoopbackAddressShowsTheDashboardUnderNamesOfThisMachine) {
  NginxPlan with = plan("http://api");
  with.metrics = "127.0.0.1:9090";
  with.metrics_is_local = true;
  EXPECT_THAT(nginx_conf(with), HasSubstr("server_name localhost "));
  with.metrics = "10.0.0.1:9090";
  with.metrics_is_local = false;
  EXPECT_THAT(nginx_conf(with), HasSubstr("server_name ~^;"));
}

TEST(NginxConf, EveryPlaceholderIsFilled) {
  NginxPlan full = plan("https://api.example/v1");
  full.user = "www-data www-data";
  full.metrics = "127.0.0.1:9090";
  full.drain = nanos_per_second;
  full.body_max = 1;
  full.trusted_proxies = {*policy::AddressBlock::parse("::1")};
  EXPECT_THAT(nginx_conf(full), Not(HasSubstr("@")));
  EXPECT_THAT(nginx_conf(plan("http://api")), Not(HasSubstr("@")));
}

}  // namespace
}  // namespace headgate::cli
