#include "headgate/policy/match/path.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "headgate/base/ascii.h"

namespace headgate::policy {
namespace {

std::string folded(std::string_view raw) {
  std::string buffer;
  return std::string(FoldedPath(raw, buffer).text());
}

std::vector<std::string> readings(std::string_view raw) {
  std::string buffer;
  FoldedPath path(raw, buffer);
  std::vector<std::string> all;
  for (const std::string_view reading : path.readings()) all.emplace_back(reading);
  return all;
}

bool matches(std::string_view pattern, std::string_view raw) {
  const PathPattern compiled(pattern);
  const auto all = readings(raw);
  return std::any_of(all.begin(), all.end(),
                     [&](const std::string& reading) { return compiled.matches(reading); });
}

// What Unicode's lower case, upper case or case folding makes letters of ASCII.
TEST(FoldedPath, HasNoLettersThatUnicodeMakesAscii) {
  for (const char* const raw : {"/to%E2%84%AAen", "/TO%e2%84%aaEN",
                                "/to\xe2\x84\xaa"
                                "en",
                                "/to%e2\x84%AAen/"}) {
    EXPECT_EQ(folded(raw), "/token") << raw;
  }
  EXPECT_EQ(folded("/log%C4%B0n"), "/login");
  EXPECT_EQ(folded("/log\xc4\xb0n"), "/login");
  EXPECT_EQ(folded("/LOG%c4%b1N"), "/login");
  EXPECT_EQ(folded("/log\xc4\xb1n"), "/login");
  EXPECT_EQ(folded("/u%C5%BFers"), "/users");
  EXPECT_EQ(folded("/u\xc5\xbf"
                   "ers"),
            "/users");
  EXPECT_TRUE(matches("/users/*", "/u%C5%BFer%c5%bf/7"));
  EXPECT_TRUE(matches("/token", "/to%E2%84%AAen"));
  EXPECT_TRUE(
      matches("/to\xe2\x84\xaa"
              "en",
              "/token"));
  // Other letters of the same script, and parts of these.
  for (const char* const raw :
       {"/\xc4\xb2", "/\xc5\xbe", "/\xe2\x84\xab", "/\x84\xaa", "/\xb0", "/\xe2/\x84\xaa"}) {
    EXPECT_EQ(folded(raw), raw);
  }
}

TEST(FoldedPath, IsOneForAllSpellings) {
  for (const char* const raw : {"/login",
                                "/Login",
                                "/LOGIN/",
                                "/login//",
                                "//login",
                                "/./login",
                                "/login/.",
                                "/x/../login",
                                "/../login",
                                "/login;x",
                                "/login;x=1/",
                                "/;x/login",
                                "/login%3bx",
                                "/login%2f",
                                "/login%2F%2f",
                                "/%6cogin",
                                "/%4Cogin",
                                "/%2e/login",
                                "/x/%2E%2e/login",
                                "\\login",
                                "/\\login",
                                "/%5clogin",
                                "/login\\",
                                "/login/;x/y/..",
                                "/x;y/..;z/login",
                                "/login/%2e%2e/login",
                                "/login;%2f",
                                "/login%0a",
                                "/login%0A%20",
                                "/login%00",
                                "/login\xa0",
                                "/login%c2%A0",
                                "/login%09;x",
                                "/login/ ",
                                "/login%20/",
                                "/login%20/%0a//",
                                "/login/x/..%20/",
                                "/%u006cogin",
                                "/x%u002f..%u005Clogin"}) {
    EXPECT_EQ(folded(raw), "/login") << raw;
  }
}

TEST(FoldedPath, OtherPathsStayApart) {
  const struct {
    const char* raw;
    const char* path;
  } cases[] = {{"/", "/"},
               {"//", "/"},
               {"/..", "/"},
               {"/;x", "/"},
               {"", ""},
               {"*", "*"},
               {"/a b", "/a b"},
               {"/a%20b", "/a b"},
               {"/a%252fb", "/a%252fb"},
               {"/100%", "/100%25"},
               {"/100%25", "/100%25"},
               {"/a%2", "/a%252"},
               {"/a%zz", "/a%25zz"},
               {"/...", "/..."},
               {"/a..b/.c", "/a..b/.c"},
               {"/.well-known/x", "/.well-known/x"},
               {"/a+b", "/a+b"},
               {"/a%3Fb%23c", "/a?b%23c"},
               {"/\xc3\x84", "/\xc3\x84"},
               {"/%C3%84", "/\xc3\x84"},
               {"/%C3%A0", "/\xc3\xa0"},
               {"/%20a", "/ a"},
               {"/a%0a/b", "/a\n/b"}};
  for (const auto& c : cases) EXPECT_EQ(folded(c.raw), c.path) << c.raw;
}

TEST(FoldedPath, UpstreamsThatReadAPathInOtherWays) {
  using All = std::vector<std::string>;
  EXPECT_EQ(readings("/a/B/"), All{"/a/b"});
  EXPECT_EQ(readings("/a;x/b"), (All{"/a/b", "/a"}));
  EXPECT_EQ(readings("/api/../x"), (All{"/x", "/api/../x", "/x"}));
  EXPECT_EQ(readings("/a//../b"), (All{"/b", "/a/../b", "/a/b"}));
  EXPECT_EQ(readings("/login;%2fx"), (All{"/login/x", "/login"}));
  EXPECT_EQ(readings("/a;%2fx/../b").size(), 8U);
  // WHATWG's URL parsers and Kestrel resolve dots before they decode slashes, if they do at all.
  EXPECT_EQ(readings("/x/a%2fb/../login"),
            (All{"/x/a/login", "/x/a/b/../login", "/x/a/login", "/x/login"}));
  EXPECT_EQ(readings("/a%5Cb/%2E./%2flogin").back(), "/login");
  EXPECT_EQ(readings("/a%2f../../b").back(), "/b");
}

// Fastify up to 4 ends the path at the first ';', as at a '?'.
TEST(FoldedPath, ThePathMayEndAtASemicolon) {
  using All = std::vector<std::string>;
  EXPECT_EQ(readings("/Login/;/x"), (All{"/login/x", "/login"}));
  EXPECT_EQ(readings("/x/../login;/y"),
            (All{"/login/y", "/x/../login/y", "/login/y", "/login", "/x/../login"}));
  EXPECT_EQ(readings("/login;a=b/"), (All{"/login", "/login"}));
  EXPECT_EQ(readings("/;/x"), (All{"/x", "/"}));
  EXPECT_EQ(readings("/login;x"), All{"/login"});
  EXPECT_EQ(readings("/login%3b/x"), All{"/login/x"});
  EXPECT_EQ(readings(";/x").size(), 1U);
  for (const char* const raw :
       {"/login;/x", "/login;/../x", "/%6cogin;/a;b/../../..", "/login;/x#"}) {
    EXPECT_TRUE(matches("/login", raw)) << raw;
  }
}

// h3 1 decodes the path as a whole, and ends it at the first '?' then.
TEST(FoldedPath, ThePathMayEndAtAnEncodedQuestionMark) {
  using All = std::vector<std::string>;
  EXPECT_EQ(readings("/Login%3fX"), (All{"/login?x", "/login"}));
  EXPECT_EQ(readings("/a/../login/%3Fb%3f"),
            (All{"/login/?b?", "/a/../login/?b?", "/login/?b?", "/login", "/a/../login"}));
  EXPECT_EQ(readings("/x;/y%3fz"), (All{"/x/y?z", "/x", "/x/y"}));
  EXPECT_EQ(readings("/a%253fb"), All{"/a%253fb"});
  EXPECT_EQ(readings("/a%3"), All{"/a%253"});
  for (const char* const raw : {"/login%3f", "/%6cogin%3F/x", "/x/../login%3f;/y", "//login/%3f"}) {
    EXPECT_TRUE(matches("/login", raw)) << raw;
  }
}

std::string key(std::string_view raw) {
  std::string buffer;
  return std::string(FoldedPath(raw, buffer).key());
}

TEST(FoldedPath, ClientsCannotMakeUpKeysForOnePath) {
  EXPECT_EQ(key("/Login/"), "/login");
  EXPECT_EQ(key("/x/../login"), "/login");
  EXPECT_EQ(key("/login;%2f1"), "/login");
  EXPECT_EQ(key("/x;%2f..%2flogin"), "");
  EXPECT_EQ(key("/login;/1"), "/login");
  EXPECT_EQ(key("/login;/2/3"), "/login");
  EXPECT_EQ(key("/login;/../4"), "");
  for (const char* const n : {"1", "2", "3%2f4"}) {
    EXPECT_EQ(key(std::string("//h") + n + "/login"), "") << n;  // /login to URL parsers
    EXPECT_EQ(key(std::string("//h") + n), "/") << n;
    EXPECT_EQ(key(std::string("/x/a") + n + "%2fb/../login"), "") << n;  // /x/login to them
    EXPECT_EQ(key(std::string("/b/Z") + n + "%2fb/.."), "/b") << n;
    EXPECT_EQ(key(std::string("/login%3f") + n), "/login") << n;
    EXPECT_EQ(key(std::string("/login%3f/") + n + "%3f"), "/login") << n;
    EXPECT_EQ(key(std::string("/x%3f/../") + n), "") << n;
  }
}

// Go and those before a proxy that reads no fragment take the whole, Node's parsers what is before.
TEST(FoldedPath, AFragmentIsReadOrNot) {
  using All = std::vector<std::string>;
  EXPECT_EQ(readings("/x#y"), (All{"/x%23y", "/x"}));
  EXPECT_EQ(readings("#"), (All{"%23", "/"}));
  EXPECT_EQ(readings("//h/x#//i/../Login").back(), "/x");
  EXPECT_TRUE(matches("/login", "/x#/../login"));
  EXPECT_TRUE(matches("/login", "/login#1"));
  for (const char* const raw : {"/x#/../login", "/login#1", "/login#", "#"}) {
    std::string buffer;
    EXPECT_EQ(FoldedPath(raw, buffer).key(), "") << raw;
  }
}

TEST(PathPattern, IsFoldedAsPathsAre) {
  EXPECT_TRUE(matches("/Login/", "/login"));
  EXPECT_TRUE(matches("/a%20b", "/a b"));
  EXPECT_TRUE(matches("/a b", "/a%20b"));
  EXPECT_TRUE(matches("//v1//*", "/v1/x"));
  EXPECT_TRUE(matches("*.PHP", "/x.php/"));
  EXPECT_FALSE(matches("/login", "/logins"));
  EXPECT_FALSE(matches("/login", "/a/login"));
}

TEST(PathPattern, AStarBehindASlashIncludesThePathBeforeIt) {
  for (const char* const raw : {"/v1", "/v1/", "/V1;x", "/v1/x", "/v1/x/y/"}) {
    EXPECT_TRUE(matches("/v1/*", raw)) << raw;
    EXPECT_TRUE(matches("/v1/**", raw)) << raw;
  }
  EXPECT_FALSE(matches("/v1/*", "/v10"));
  EXPECT_FALSE(matches("/v1/*", "/"));
  EXPECT_TRUE(matches("/*", "/"));
  EXPECT_TRUE(matches("/*", "/x"));
  EXPECT_FALSE(matches("/*", ""));
  EXPECT_TRUE(matches("*", ""));
}

TEST(PathPattern, HoldsForEachReading) {
  EXPECT_TRUE(matches("/api/*", "/api/%2e%2e/x"));  // Express: in the router of /api
  EXPECT_TRUE(matches("/x", "/api/%2e%2e/x"));      // nginx
  EXPECT_TRUE(matches("/a/b", "/a//../b"));         // a URL parser
  EXPECT_TRUE(matches("/b", "/a//../b"));           // nginx
  EXPECT_TRUE(matches("/login", "/login;%2fx"));    // Tomcat
  EXPECT_TRUE(matches("/login/x", "/login;%2fx"));  // behind a proxy that decodes
}

TEST(PathPattern, HoldsWithoutTheAuthorityThatUrlParsersRead) {
  for (const char* const raw :
       {"//anything/login", "/\\x/login", "\\/x/login", "\\\\x\\login", "///x/login",
        "//a@b:1/x/../Login", "//x/login;y", "/\\/\\x//login"}) {
    EXPECT_TRUE(matches("/login", raw)) << raw;
  }
  EXPECT_EQ(readings("//x/login"), (std::vector<std::string>{"/x/login", "/login"}));
  EXPECT_EQ(readings("//login"), (std::vector<std::string>{"/login", "/"}));
  EXPECT_EQ(readings("//").size(), 2U);
  EXPECT_EQ(readings("//h/a;%2fx/../b").size(), 15U);
  EXPECT_FALSE(matches("/login", "/x//y/login"));
  EXPECT_FALSE(matches("/login", "/%2fx/login"));
}

TEST(FoldedPath, WhiteSpaceAtTheEndHidesNoDots) {
  EXPECT_EQ(folded("/a/..%20/q/..%20/q/..%20"), "/");
  EXPECT_EQ(folded("/login/x/..%20//%20"), "/login");
  EXPECT_EQ(folded("/..%20/..%20"), "/");
  EXPECT_EQ(folded("/login/%20/.%20"), "/login");
  EXPECT_EQ(folded("/login/..%20/x"), "/login/.. /x");
  EXPECT_EQ(folded("login/..%20"), "");
  EXPECT_EQ(readings("/x/..%20/"), (std::vector<std::string>{"/", "/x/..", "/x/.."}));
}

TEST(FoldedPath, KeepsLittleMemory) {
  std::string buffer;
  EXPECT_EQ(FoldedPath("//h/%61/../b", buffer).text(), "/h/b");
  const char* const kept = buffer.data();
  EXPECT_EQ(FoldedPath("//h/%61/../c", buffer).text(), "/h/c");
  EXPECT_EQ(buffer.data(), kept) << "the memory of usual paths is used again";
  const std::string hostile = "//h/" + std::string(16'000, 'a') + "/..%2fs;x%2fb%2f/../c#d";
  EXPECT_GT(readings(hostile).size(), 20U);
  { EXPECT_FALSE(FoldedPath(hostile, buffer).readings().empty()); }
  EXPECT_LE(buffer.capacity(), 8192U);
}

// One step that leaves the path the same for an upstream that decodes, merges slashes, resolves
// dots, drops parameters and ignores case.
std::string respelled(const std::string& path) {
  std::string out;
  const auto any = [](int most) { return *rc::gen::inRange(0, most); };
  for (const char c : path) {
    if (c == '/') {
      static const std::vector<std::string> slashes{"/",        "//",  "/./",      "/%2e/",
                                                    "%2f",      "/\\", "/;x/",     "/x/../",
                                                    "/;a=b;c/", "%5C", "/y/%2E./", "/;%2e/"};
      // The first character of a target is a slash.
      const std::string slash = slashes[static_cast<std::size_t>(any(12))];
      out += (out.empty() && slash[0] != '/' ? "/" : "") + slash;
      continue;
    }
    switch (any(4)) {
      case 0:
        out += upper(c);
        break;
      case 1: {
        const char* const digits = any(2) == 0 ? "0123456789abcdef" : "0123456789ABCDEF";
        const auto byte = static_cast<unsigned char>(any(2) == 0 ? c : upper(c));
        out += std::string("%") + digits[byte >> 4] + digits[byte & 15];
        break;
      }
      default:
        out += c;
    }
  }
  static const std::vector<std::string> ends{"", "/", ";x", ";x=1;y", "//", "/.", "%2F", "/x/.."};
  return out + ends[static_cast<std::size_t>(any(8))];
}

RC_GTEST_PROP(FoldedPath, NoRespellingEscapes, ()) {
  static const PathPattern login("/login");
  static const PathPattern deep("/v1/users/*");
  const std::string raw = respelled("/login");
  RC_ASSERT(folded(raw) == "/login");
  RC_ASSERT(login.matches(folded(raw)));
  RC_ASSERT(deep.matches(folded(respelled("/v1/users/7"))));
  RC_ASSERT(deep.matches(folded(respelled("/v1/users"))));
}

// What Express 5 documents as its defaults: paths are compared without regard to case, one slash at
// the end is optional, and nothing is decoded.
bool express_routes_to(const std::string& raw, std::string_view route) {
  const std::string_view path = std::string_view(raw).substr(0, raw.find_first_of("?#"));
  return equal_ignoring_case(path, route) ||
         (path.ends_with('/') && equal_ignoring_case(path.substr(0, path.size() - 1), route));
}

RC_GTEST_PROP(FoldedPath, WhatExpressRoutesToLoginIsLimited, ()) {
  const auto raw =
      "/" + *rc::gen::container<std::string>(rc::gen::elementOf(std::string("loginLOGIN/.;%2f\\")));
  if (express_routes_to(raw, "/login")) RC_ASSERT(folded(raw) == "/login");
  const std::string close = "/" +
                            *rc::gen::element<std::string>("login", "Login", "LOGIN", "lOgIn") +
                            *rc::gen::element<std::string>("", "/", "?", "/?x");
  RC_ASSERT(express_routes_to(close, "/login"));
  RC_ASSERT(folded(close.substr(0, close.find('?'))) == "/login");
}

// A path in logs is that of a key, and is given as one.
RC_GTEST_PROP(FoldedPath, FoldingAgainChangesNothing, ()) {
  const auto raw = "/" + *rc::gen::container<std::string>(
                             rc::gen::elementOf(std::string("aBu0/.;\\*?%%%%%2235 #\xc4\xb0")));
  const std::string once = folded(raw);
  RC_ASSERT(folded(once) == once);
  RC_ASSERT(key(key(raw)) == key(raw));
  for (const std::string& reading : readings(raw)) {
    RC_ASSERT(reading.find("//") == std::string::npos);
    RC_ASSERT(reading.starts_with('/'));
  }
}

}  // namespace
}  // namespace headgate::policy
