#include "headgate/policy/file/lint.h"

#include <gtest/gtest.h>

#include <string>

#include "headgate/policy/file/load.h"

namespace headgate::policy {
namespace {

using namespace std::string_literals;

// Returns the warnings of a policy file, one per line, without its name.
std::string warnings_of(const std::string& yaml) {
  const Loaded loaded = load_text(yaml, "f");
  std::string out;
  if (!loaded) {
    for (const Fault& fault : loaded.error()) out += "fault " + fault.text() + '\n';
    return out;
  }
  for (const Fault& warning : (*loaded)->warnings()) {
    if (!out.empty()) out += '\n';
    out += warning.text().substr(2);
  }
  return out;
}

// Returns the warnings of a file with one policy, which has these keys besides.
std::string in_a_policy(const std::string& keys) {
  return warnings_of("version: 1\npolicies:\n  - {name: a, window: 1s, " + keys + "}\n");
}

std::string in_match(const std::string& condition) {
  return in_a_policy("quota: 3, match: {" + condition + "}");
}

TEST(Lint, OverridesOfPathsWithMoreAtOnceAndLessOverTime) {
  const auto warnings = [](const std::string& key, const std::string& override) {
    return warnings_of("version: 1\npolicies:\n  - {name: a, quota: 10, window: 1m, key: " + key +
                       ", overrides: [{ids: [/x], " + override + "}]}\n");
  };
  EXPECT_EQ(warnings("path", "quota: 100, window: 1d"),
            "3:68: id '/x' gives more at once and less over time than the policy, whose numbers "
            "count for every other spelling of this path; expected another policy for the lesser "
            "rate");
  for (const char* const clear : {"quota: 100, window: 10m", "quota: 9, window: 1d",
                                  "quota: unlimited", "quota: 0", "quota: 5, window: 10s"}) {
    EXPECT_EQ(warnings("path", clear), "") << clear;
  }
  EXPECT_EQ(warnings("\"header:x\"", "quota: 100, window: 1d"), "");
}

TEST(Lint, HostsThatNoRequestHas) {
  const std::string matches_none =
      " matches no request, because hosts are compared without scheme, port, path and final dot; "
      "expected ";
  EXPECT_EQ(in_match("host: \"api.example:8080\""),
            "3:51: host 'api.example:8080'" + matches_none + "'api.example'");
  EXPECT_EQ(in_match("host: \"https://*.example/x\""),
            "3:51: host 'https://*.example/x'" + matches_none + "'*.example'");
  EXPECT_EQ(in_match("host: api.example."),
            "3:51: host 'api.example.'" + matches_none + "'api.example'");
  EXPECT_EQ(in_match("host: \"[::1]:80\""), "3:51: host '[::1]:80'" + matches_none + "'[::1]'");
  EXPECT_EQ(in_match("host: \"::1\""), "3:51: host '::1'" + matches_none + "'[::1]'");
  EXPECT_EQ(in_match("host: \"http://\""), "3:51: host 'http://'" + matches_none + "a host name");
  EXPECT_EQ(in_match("host: \"a b\""),
            "3:51: host 'a b' matches no request, because it has a character that hosts do not "
            "have; expected a host name");
  for (const std::string malformed : {"a..example", "node.1", "1.2.3.256", "[::1::2]"}) {
    EXPECT_EQ(in_match("host: '" + malformed + "'"),
              "3:51: host '" + malformed +
                  "' matches no request, because it is neither a host name nor an address; "
                  "expected one");
  }
  for (const auto& [written, compared] :
       {std::pair("127.1", "127.0.0.1"), std::pair("[2001:db8:0::1]", "[2001:db8::1]"),
        std::pair("[::ffff:192.0.2.7]", "192.0.2.7")}) {
    EXPECT_EQ(in_match("host: '" + std::string(written) + "'"),
              "3:51: host '" + std::string(written) + "' is compared as the address that it is, '" +
                  compared + "'; expected it so");
  }
  for (const char* good : {"API.example", "\"*\"", "\"*.example\"", "\"[::1]\"", "127.0.0.1", "a_b",
                           "\"*.1\"", "\"[2001:db8:*]\"", "\"[2001:DB8::1]\""}) {
    EXPECT_EQ(in_match(std::string("host: ") + good), "") << good;
  }
}

TEST(Lint, PathsThatAreComparedInAnotherForm) {
  const std::string compared = " is compared without dots, escapes and double slashes, as ";
  EXPECT_EQ(in_match("path: /v1/../admin"),
            "3:51: path '/v1/../admin'" + compared + "'/admin'; expected it so, or exact-path");
  EXPECT_EQ(in_match("path: [/a, /b/./c]"),
            "3:56: path '/b/./c'" + compared + "'/b/c'; expected it so, or exact-path");
  EXPECT_EQ(in_match("path: /caf%C3%A9"), "3:51: path '/caf%C3%A9'" + compared +
                                              "'/caf\\xc3\\xa9'; expected it so, or exact-path");
  EXPECT_EQ(in_match("path: /a%2ab"),
            "3:51: path '/a%2ab'" + compared + "'/a*b'; expected it so, or exact-path");
  EXPECT_EQ(in_match("path: /100%"),
            "3:51: path '/100%'" + compared + "'/100%25'; expected it so, or exact-path");
  EXPECT_EQ(in_match("path: /a//b"),
            "3:51: path '/a//b'" + compared + "'/a/b'; expected it so, or exact-path");
  EXPECT_EQ(in_match("path: \"*/../x\""),
            "3:51: path '*/../x' matches no request, because it is compared without dots and "
            "escapes, as 'x'; expected a path that begins with '/' or '*' then");
  for (const char* good :
       {"/", "/V1/", "/v1/*", "\"*.css\"", "\"*\"", "/.well-known/*", "/100%25", "/a..b"}) {
    EXPECT_EQ(in_match(std::string("path: ") + good), "") << good;
  }
}

TEST(Lint, PathsWithTheParametersOfAFramework) {
  for (const std::string path : {"/users/{id}", "/users/:id/x", "/users/<int:id>", "/{a}/b"}) {
    const std::string literal = " '" + path +
                                "' is compared letter by letter, also what looks like a "
                                "parameter; expected '*' for any characters";
    EXPECT_EQ(in_match("path: \"" + path + '"'), "3:51: path" + literal);
    EXPECT_EQ(in_match("exact-path: \"" + path + '"'), "3:57: exact-path" + literal);
  }
  for (const char* const good : {"/v1/books:batch", "/a{b}c", "/:", "/{", "/$metadata", "/<"}) {
    EXPECT_EQ(in_match("path: \""s + good + '"'), "") << good;
  }
}

TEST(Lint, SeveralPathsInOneText) {
  for (const std::string path : {"/a, /b", "/a /b", "/a,/b", "/a|/b", "/a/* /b"}) {
    const std::string one =
        " '" + path + "' is one path, not several; expected a list of them, like [/a, /b]";
    EXPECT_EQ(in_match("path: \"" + path + '"'), "3:51: path" + one);
    EXPECT_EQ(in_match("exact-path: \"" + path + '"'), "3:57: exact-path" + one);
  }
  EXPECT_EQ(in_match("path: \"/a, b\""), "");
}

TEST(Lint, HeadersThatNginxDrops) {
  const std::string dropped =
      " has a character other than letters, digits and '-', so that nginx and the gateway drop it; "
      "expected one like x-api-key";
  EXPECT_EQ(in_a_policy("quota: 3, key: [address, \"header:x_api_key\"]"),
            "3:52: key component 'header:x_api_key'" + dropped);
  EXPECT_EQ(in_a_policy("quota: 3, key: \"registered-domain:header:x.y\""),
            "3:42: key component 'registered-domain:header:x.y'" + dropped);
  EXPECT_EQ(in_match("header: {x_plan: free}"), "3:54: header 'x_plan'" + dropped);
  EXPECT_EQ(in_a_policy("quota: 3, cost: {request-header: x_cost}"),
            "3:60: request-header 'x_cost'" + dropped);
  EXPECT_EQ(in_match("has: \"header:x*\""), "3:50: has 'header:x*'" + dropped);
  EXPECT_EQ(in_match("has: [\"header:X-Api-Key1\", \"cookie:a_b\", \"query:a_b\"]"), "");
}

TEST(Lint, MethodsThatNoRequestHas) {
  for (const std::string method : {"*", "GET|POST", "P*"}) {
    EXPECT_EQ(
        in_match("method: \"" + method + '"'),
        "3:53: method '" + method +
            "' matches no request, because it has a character that "
            "methods do not have; expected one like GET, a list of them, or no 'method' for all");
  }
  EXPECT_EQ(in_match("method: [GET, M-SEARCH, X_1]"), "");
}

TEST(Lint, ExactPathsThatNoClientSends) {
  EXPECT_EQ(in_match("exact-path: /a b"),
            "3:57: exact-path '/a b' matches no request, because clients send a space as %20; "
            "expected it so");
  EXPECT_EQ(in_match("exact-path: [/a/../b, /%41, //]"), "") << "clients can send them";
}

TEST(Lint, PathsThatExemptNoRequest) {
  const auto allow = [](const std::string& condition) {
    return warnings_of("version: 1\npolicies: []\nallow: {" + condition + "}\n");
  };
  EXPECT_EQ(
      allow("path: /a/../b"),
      "3:15: path '/a/../b' exempts no request, because upstreams read such a path in several "
      "ways; expected one without '..', and with one '/' at its begin");
  EXPECT_EQ(allow("exact-path: /a/../b"),
            "3:21: exact-path '/a/../b' exempts no request, because upstreams read such a path in "
            "several ways; expected one without '..', and with one '/' at its begin");
  EXPECT_NE(allow("path: //x"), "");
  EXPECT_EQ(
      allow("path: /a b"),
      "3:15: path '/a b' matches no request, because clients send a space as %20; expected it "
      "so");
  EXPECT_EQ(allow("path: [/a%20b, /v1/*, /x//y, /Health/]"), "") << "it is compared as sent, too";
  EXPECT_EQ(in_match("not: {path: /a%20b}"), "");
  EXPECT_NE(in_match("not: {path: /a/../b}"), "");
  EXPECT_NE(allow("method: GET, not: {path: /a%20b}"), "") << "what it exempts from the exemption";
}

TEST(Lint, CostsAboveTheQuota) {
  EXPECT_EQ(in_a_policy("quota: 3, cost: 5"),
            "3:43: quota 3 is below the cost 5, so every request is denied; expected a cost of at "
            "most the quota, or quota 0 to say so");
  EXPECT_EQ(in_a_policy("quota: 3, cost: 5, overrides: [{ids: [10.0.0.1], quota: 9}]"),
            "3:43: quota 3 is below the cost 5, so every request without an override is denied; "
            "expected a cost of at most the quota, or quota 0 to say so");
  EXPECT_EQ(
      in_a_policy("quota: 9, cost: 5, overrides: [{ids: [10.0.0.1], quota: 3}]"),
      "3:83: quota 3 is below the cost 5, so every request of these ids is denied; expected at "
      "least the cost, or 0 to say so");
  EXPECT_EQ(in_a_policy("quota: 5, cost: 5"), "");
  EXPECT_EQ(in_a_policy("quota: 0, overrides: [{ids: [10.0.0.1], quota: 1}]"), "") << "it blocks";
  EXPECT_EQ(in_a_policy("quota: 3, cost: {request-header: x}"), "");
  EXPECT_EQ(in_a_policy("quota: 3, cost: {response-header: x_c}"), "");
}

std::string override_of(const std::string& rest, const std::string& id) {
  return in_a_policy("quota: 3, " + rest + ", overrides: [{ids: [" + id + "], quota: 5}]");
}

TEST(Lint, OverridesThatMatchKeepsOut) {
  const std::string kept_out =
      " is never used, because none of its requests matches this policy; expected an id that "
      "'match' lets in";
  EXPECT_EQ(override_of("match: {address: 10.0.0.0/8}", "192.0.2.1"),
            "3:86: id '192.0.2.1'" + kept_out);
  EXPECT_EQ(override_of("match: {address: 10.0.0.0/8}", "10.1.0.0/16"), "");
  EXPECT_EQ(override_of("match: {address: 10.1.0.0/16}", "10.0.0.0/8"), "") << "some of them";
  EXPECT_EQ(override_of("match: {not: {address: 10.0.0.0/8}}", "10.0.0.1"),
            "3:93: id '10.0.0.1'" + kept_out);
  EXPECT_EQ(override_of("match: {not: {address: 10.0.0.0/8, path: /x}}", "10.0.0.1"), "");
  EXPECT_EQ(override_of("key: method, match: {method: GET}", "POST"), "3:91: id 'POST'" + kept_out);
  EXPECT_EQ(override_of("key: method, match: {method: GET}", "get"), "");
  EXPECT_EQ(override_of("key: host, match: {host: \"*.example\"}", "API.example"), "");
  EXPECT_EQ(override_of("key: host, match: {host: \"*.example\"}", "api.test"),
            "3:95: id 'api.test'" + kept_out);
  EXPECT_EQ(override_of("key: header:host, match: {header: {host: 127.1}}", "\"127.0.0.1:80\""),
            "");
  EXPECT_EQ(override_of("key: header:host, match: {header: {host: 127.1}}", "'@'"), "");
  EXPECT_EQ(override_of("key: header:host, match: {header: {host: 127.1}}", "127.2"),
            "3:106: id '127.2'" + kept_out);
  EXPECT_EQ(override_of("key: path, match: {path: /v1/*}", "/V1/a/"), "");
  EXPECT_EQ(override_of("key: path, match: {path: /v1/*}", "/v2"), "3:89: id '/v2'" + kept_out);
  EXPECT_EQ(override_of("key: header:x-plan, match: {header: {X-Plan: \"free*\"}}", "free-1"), "");
  EXPECT_EQ(override_of("key: header:x-plan, match: {header: {X-Plan: \"free*\"}}", "pro"),
            "3:112: id 'pro'" + kept_out);
  EXPECT_EQ(override_of("key: [address, method], match: [{method: GET}, {address: 10.0.0.1}]",
                        "[192.0.2.1, POST]"),
            "3:125: id '[192.0.2.1, POST]'" + kept_out);
  EXPECT_EQ(override_of("key: [address, method], match: [{method: GET}, {address: 10.0.0.1}]",
                        "[10.0.0.1, POST]"),
            "");
}

TEST(Lint, OverridesOfWhatIsAllowed) {
  const auto allowed = [](const std::string& allow) {
    return warnings_of(
        "version: 1\npolicies:\n  - {name: a, window: 1s, quota: 3, overrides: [{ids: [10.0.0.1], "
        "quota: "
        "5}]}\nallow: " +
        allow + "\n");
  };
  EXPECT_EQ(
      allowed("{address: 10.0.0.0/8}"),
      "3:56: id '10.0.0.1' is never used, because 'allow' lets all its requests pass; expected "
      "another id, or no override");
  EXPECT_EQ(allowed("{address: 10.0.0.0/8, method: GET}"), "");
  EXPECT_EQ(allowed("{address: 10.0.0.2}"), "");
}

TEST(Lint, IdsThatAreInNoRequest) {
  EXPECT_EQ(override_of("key: host", "\"api.example:80\""), "");
  EXPECT_EQ(override_of("key: host", "api.example."), "");
  EXPECT_EQ(override_of("key: host, match: {host: \"*.example\"}", "\"API.example.:80\""), "");
  EXPECT_EQ(override_of("key: host", "127.1"),
            "3:67: id '127.1' is compared as the address that it is, '127.0.0.1'; expected it so");
  EXPECT_EQ(override_of("key: path", "v1"),
            "3:67: id 'v1' is the path of no request; expected '/' first");
  const std::string no_pattern =
      " is compared letter by letter, also its '*'; expected what one request has";
  EXPECT_EQ(override_of("key: path", "/v1/*"), "3:67: id '/v1/*'" + no_pattern);
  EXPECT_EQ(override_of("key: [host, path]", "[\"\", \"\"]"), "") << "of requests without";
  EXPECT_EQ(override_of("key: host", "'@'"), "") << "of all malformed hosts";
}

// All of them with each other would be thousands of millions of comparisons.
TEST(Lint, ManyIdsAndConditionsAreComparedUpToANumber) {
  std::string ids;
  std::string allowed;
  for (int i = 0; i < 50'000; ++i) {
    const std::string rest = std::to_string(i >> 8) + '.' + std::to_string(i & 255);
    ids += "10.2." + rest + ',';
    allowed += "{address: 10.1." + rest + "},";
  }
  EXPECT_EQ(warnings_of("version: 1\nallow: [" + allowed +
                        "]\npolicies:\n  - {name: a, rate: 1/s, overrides: [{ids: [10.1.0.0," +
                        ids + "10.1.0.1], quota: 2}]}\n"),
            "4:45: id '10.1.0.0' is never used, because 'allow' lets all its requests pass; "
            "expected another id, or no override");
}

TEST(Lint, AWarningThatAliasesRepeatIsListedOnce) {
  EXPECT_EQ(warnings_of("version: 1\npolicies:\n  - {name: a, rate: 1/s, match: &m {host: a.}}\n"
                        "  - {name: b, rate: 1/s, match: *m}\n"),
            "3:43: host 'a.' matches no request, because hosts are compared without scheme, port, "
            "path and final dot; expected 'a'");
}

}  // namespace
}  // namespace headgate::policy
