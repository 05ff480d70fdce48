#include "headgate/cli/gateway/nginx_version.h"

#include <gtest/gtest.h>

namespace headgate::cli {
namespace {

TEST(NginxVersion, IsReadFromWhatNginxSays) {
  EXPECT_EQ(parse_nginx_version("nginx version: nginx/1.22.1\n"), (NginxVersion{1, 22, 1}));
  EXPECT_EQ(parse_nginx_version("nginx version: nginx/1.26.3 (Debian)\n"),
            (NginxVersion{1, 26, 3}));
  EXPECT_GE(parse_nginx_version("nginx version: nginx/1.100.0"), (NginxVersion{1, 25, 1}));
  for (const char* text : {"", "nginx/", "nginx/1", "nginx/1.", "nginx/a.b.c", "openresty"}) {
    EXPECT_EQ(parse_nginx_version(text), NginxVersion{}) << text;
  }
  EXPECT_EQ(nginx_version("/nowhere/nginx"), NginxVersion{});
}

}  // namespace
}  // namespace headgate::cli
