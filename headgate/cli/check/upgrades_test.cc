#include "headgate/cli/check/upgrades.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "headgate/base/testing/temporary_directory.h"
#include "headgate/cli/gateway/nginx_conf.h"

namespace headgate::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class UpgradesTest : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) const {
    const auto path = folder_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return path.string();
  }

  // What is found in a conf with these lines in http{} and in a location.
  std::vector<std::string> found(const std::string& http, const std::string& location) const {
    const auto conf = read_nginx_conf(
        write("nginx.conf",
              "events {}\nhttp {\n" + http + "\nserver { location / {\n" + location + "\n} } }\n"));
    EXPECT_TRUE(conf) << conf.error();
    return conf ? open_upgrades(*conf) : std::vector<std::string>{};
  }

  std::string fault(const std::string& text) const {
    const auto conf = read_nginx_conf(write("nginx.conf", text));
    return conf ? "" : conf.error().substr(folder_.string().size() + 1);
  }

  TemporaryDirectory directory_;
  const std::filesystem::path folder_ = directory_.path();
};

TEST_F(UpgradesTest, FindsThePlaceOfEach) {
  EXPECT_THAT(found("", "proxy_set_header Upgrade $http_upgrade;"),
              ElementsAre(StartsWith((folder_ / "nginx.conf:5: a client can upgrade").string())));
  for (const char* const line :
       {"proxy_set_header upgrade \"$http_upgrade\";",
        "proxy_set_header 'Upgrade' ${http_upgrade};", "proxy_set_header Upgrade h2c;",
        "proxy_set_header Upgrade x$http_upgrade;", "proxy_set_header Upgrade $unknown;",
        "set $u $http_upgrade; proxy_set_header Upgrade $u;"}) {
    EXPECT_THAT(found("", line), ::testing::SizeIs(1)) << line;
  }
}

TEST_F(UpgradesTest, FollowsMaps) {
  const char* const line = "proxy_set_header Upgrade $u;";
  for (const char* const map :
       {"map $http_upgrade $u { default \"\"; websocket websocket; }",
        "map $http_upgrade $u { WebSocket $http_upgrade; }",
        "map $http_upgrade $u { \"~*^websocket$\" $http_upgrade; default ''; }",
        "map $host $u { default $v; } map $http_upgrade $v { volatile; websocket websocket; }"}) {
    EXPECT_THAT(found(map, line), IsEmpty()) << map;
  }
  for (const char* const map :
       {"map $http_upgrade $u { default $http_upgrade; }", "map $http_upgrade $u { h2c h2c; }",
        "map $http_upgrade $u { \"~websocket\" $http_upgrade; }",
        "map $http_connection $u { websocket $http_upgrade; }",
        "map $host $u { default $v; } map $host $v { default $u; }"}) {
    EXPECT_THAT(found(map, line), ::testing::SizeIs(1)) << map;
  }
}

TEST_F(UpgradesTest, OtherDirectivesAreNoFault) {
  EXPECT_THAT(found("",
                    "# proxy_set_header Upgrade $http_upgrade;\n"
                    "proxy_set_header Upgrade \"\"; proxy_set_header Upgrade websocket;\n"
                    "proxy_set_header X-Upgrade $http_upgrade;\n"
                    "add_header X 'proxy_set_header Upgrade $http_upgrade;';"),
              IsEmpty());
}

TEST_F(UpgradesTest, PassesOverLua) {
  const std::string upgrade = "proxy_set_header Upgrade $http_upgrade;";
  for (const char* const block :
       {"access_by_lua_block { }", "content_by_lua_block { ngx.say('}') ngx.say(\"{\") }",
        "rewrite_by_lua_block {\n  -- it's }\n  local t = { a = { 1 } }\n}",
        "rewrite_by_lua_block { --[==[ it's } ]] ]==] local s = [[ } \" ]] t[t[1]] = a - -1 }",
        "set_by_lua_block $x { return 'it\\'s }' }"}) {
    EXPECT_THAT(found("", std::string(block) + upgrade), ::testing::SizeIs(1)) << block;
    EXPECT_THAT(found("", std::string("access_by_lua_block { -- ") + upgrade + "\n}" + block),
                IsEmpty())
        << block;
  }
  EXPECT_EQ(fault("http {\n  init_by_lua_block { a = '}' \n"),
            "nginx.conf:2: a block of Lua is not closed; expected '}'");
}

TEST_F(UpgradesTest, FollowsIncludes) {
  write("sites/a.conf", "\nproxy_set_header Upgrade $http_upgrade;");
  EXPECT_THAT(found("include none/*.conf;", "include sites/*.conf;"),
              ElementsAre(StartsWith((folder_ / "sites/a.conf:2: ").string())));
}

TEST_F(UpgradesTest, TheGatewaysOwnConfIsClosed) {
  NginxPlan plan;
  plan.upstreams = {*parse_upstream("http://api")};
  const auto conf = read_nginx_conf(write("nginx.conf", nginx_conf(plan)));
  ASSERT_TRUE(conf) << conf.error();
  EXPECT_THAT(open_upgrades(*conf), IsEmpty());
}

TEST_F(UpgradesTest, WhatIsNoConfIsRefused) {
  EXPECT_EQ(fault("a {\nb;\n"), "nginx.conf:3: a block is not closed; expected '}'");
  EXPECT_EQ(fault("a;\n}"), "nginx.conf:2: '}' closes no block");
  EXPECT_EQ(fault("a\nb"), "nginx.conf:1: a directive does not end; expected ';'");
  EXPECT_EQ(fault("a 'b;"), "nginx.conf:1: a quote is not closed");
  EXPECT_EQ(fault(";"), "nginx.conf:1: expected a directive");
  EXPECT_THAT(fault("\ninclude gone;"), HasSubstr("nginx.conf:2: can't include "));
  EXPECT_THAT(fault("include nginx.conf;"), HasSubstr("more than 16 files include each other"));
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += "a {";
  EXPECT_THAT(fault(deep), HasSubstr("more than 64 blocks"));
  EXPECT_THAT(read_nginx_conf((folder_ / "gone").string()).error(), HasSubstr("gone: "));
}

}  // namespace
}  // namespace headgate::cli
