// The policies that a request must pass, with their keys and costs.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headgate/policy/address/client_address.h"
#include "headgate/policy/file/load.h"
#include "headgate/policy/policy_set.h"

namespace headgate::policy {
namespace {

using namespace std::string_literals;

class TestHeaders final : public Headers {
 public:
  using Lines = std::vector<std::pair<std::string, std::string>>;
  explicit TestHeaders(Lines lines) : lines_(std::move(lines)) {}
  [[nodiscard]] std::optional<std::string_view> line(std::string_view name,
                                                     std::size_t nth) const noexcept override {
    for (const auto& [key, value] : lines_) {
      if (key == name && nth-- == 0) return value;
    }
    return std::nullopt;
  }

 private:
  Lines lines_;
};

struct TestRequest {
  std::string method = "GET";
  std::string host = "api.example";
  std::string path = "/v1/things";
  std::string query = {};
  std::string peer = "192.0.2.7";  // empty: a Unix socket
  TestHeaders::Lines headers = {};
  std::optional<std::uint64_t> body_bytes = 0;
};

std::shared_ptr<const PolicySet> load(const std::string& yaml) {
  const Loaded loaded = load_text(yaml, "test.yaml");
  EXPECT_TRUE(loaded) << loaded.error().front().text() << "\n" << yaml;
  return loaded ? *loaded : nullptr;
}

// A file with some settings and the policy `p` of 10 per minute with further keys.
std::shared_ptr<const PolicySet> one(const std::string& keys, const std::string& settings = "") {
  return load("version: 1\n" + settings + "\npolicies:\n  - {name: p, quota: 10, window: 1m" +
              (keys.empty() ? "" : ", ") + keys + "}\n");
}

struct FirstMatch {
  bool matched = false;
  std::string key;
  std::string partition;
  std::uint64_t cost = 0;
  bool cost_defaulted = false;
  std::uint64_t quota = 0;
};

// Calls use(matches) with the policies that the request must pass.
template <class Use>
auto with_matches(const PolicySet& set, const TestRequest& request, const Use& use) {
  const TestHeaders headers(request.headers);
  const Request view{request.method,
                     request.host,
                     request.path,
                     request.query,
                     request.peer.empty() ? std::nullopt : Address::parse(request.peer),
                     &headers,
                     request.body_bytes};
  Scratch scratch;
  return use(set.match(view, scratch));
}

FirstMatch first_match(const PolicySet& set, const TestRequest& request) {
  return with_matches(set, request, [](std::span<const Match> matches) -> FirstMatch {
    if (matches.empty()) return {};
    const Match& m = matches.front();
    return {true,   std::string(m.key), std::string(m.partition),
            m.cost, m.cost_defaulted,   m.grant->quota.units};
  });
}

std::string partition(const std::string& key, const TestRequest& request,
                      const std::string& settings = "") {
  const auto set = one("key: " + key, settings);
  return set ? first_match(*set, request).partition : "";
}

// The names of the policies that a request must pass, in order.
std::string names_of(const PolicySet& set, const TestRequest& request) {
  return with_matches(set, request, [](std::span<const Match> matches) {
    std::string names;
    for (const Match& match : matches) names += (names.empty() ? "" : " ") + match.policy->name;
    return names;
  });
}

TEST(Match, Conditions) {
  struct Case {
    const char* match;
    TestRequest request;
    bool matches;
  };
  const Case cases[] = {
      {R"([{path: "/v1/*"}])", {}, true},
      {R"([{path: "/v2/*"}])", {}, false},
      {R"([{path: "/v2/*"}, {path: "/v1/*"}])", {}, true},
      {R"([{path: "/v1/things"}])", {.path = "/v1/things/7"}, false},
      {R"([{path: "/V1/*"}])", {}, true},
      {R"([{path: "/login"}])", {.path = "/%4cOGIN;x//"}, true},
      {R"([{path: "/api/*"}])", {.path = "/api/%2e%2e/x"}, true},
      {R"([{path: "/login"}])", {.path = "/login%0a"}, true},
      {R"([{path: "/x/login"}])", {.path = "/x/a%2fb/../login"}, true},
      {R"([{exact-path: "/login"}])", {.path = "/login"}, true},
      {R"([{exact-path: "/login"}])", {.path = "/Login"}, false},
      {R"([{exact-path: "/login"}])", {.path = "/login/"}, false},
      {R"([{exact-path: "/login"}])", {.path = "/%6cogin"}, false},
      {R"([{exact-path: "/%6cogin"}])", {.path = "/%6cogin"}, true},
      {R"([{exact-path: "/a;*"}])", {.path = "/a;x/y"}, true},
      {R"([{path: "/login", exact-path: "/L*"}])", {.path = "/Login"}, true},
      {R"([{path: "/login", exact-path: "/L*"}])", {.path = "/login"}, false},
      {R"([{path: "*"}])", {.path = "*"}, true},
      {R"([{method: GET}])", {}, true},
      {R"([{method: [POST, GET]}])", {}, true},
      {R"([{method: POST}])", {}, false},
      {R"([{method: GET}])", {.method = "get"}, true},
      {R"([{not: {method: GET}}])", {.method = "get"}, true},
      {R"([{not: {method: GET}}])", {}, false},
      {R"([{host: API.example}])", {}, true},
      {R"([{host: api.example}])", {.host = "API.Example."}, true},
      {R"([{host: "*.example"}])", {}, true},
      {R"([{host: "*.example"}])", {.host = "example"}, false},
      {R"([{header: {host: api.example}}])", {.headers = {{"host", "api.example"}}}, true},
      {R"([{header: {host: api.example}}])", {.host = "API.Example."}, true},
      {R"([{header: {host: "api.example:81"}}])", {.headers = {{"host", "api.example:81"}}}, true},
      {R"([{header: {host: api.example}}])", {.host = "u0@api.example"}, true},
      {R"([{header: {host: api.example}}])", {.host = "b.example"}, false},
      {R"([{not: {header: {host: b.example}}}])", {.headers = {{"host", "b.example"}}}, true},
      {R"([{not: {header: {host: "b.example:81"}}}])",
       {.host = "b.example", .headers = {{"host", "b.example:81"}}},
       false},
      {R"([{not: {header: {host: "*"}}}])",
       {.host = "u@b.example", .headers = {{"host", "u@b.example"}}},
       true},
      {R"([{not: {header: {host: api.example}}}])", {.headers = {{"host", "api.example"}}}, false},
      {R"([{not: {header: {host: api.example}}}])", {.headers = {{"host", "API.example"}}}, true},
      {R"([{host: api.example}])", {.host = "u0@api.example"}, true},
      {R"([{host: api.example}])", {.host = "%61pi.example"}, true},
      {R"([{host: api.example}])", {.host = "api..example"}, true},
      {R"([{host: api.example}])", {.host = ".api.example"}, true},
      {R"([{host: api.example}])", {.host = "api.example.."}, true},
      {R"([{host: api.example}])", {.host = "\xaapi.example"}, true},
      {R"([{host: api.example}])", {.host = "api.example\\b"}, true},
      {R"([{host: api.example}])", {.host = "x:y@api.example"}, true},
      {R"([{host: api.example, path: /a}])", {.host = "u0@api.example", .path = "/b"}, false},
      {R"([{not: {host: api.example}}])", {.host = "u0@api.example"}, true},
      {R"([{header: {x-plan: "free*"}}])", {}, false},
      {R"([{header: {X-Plan: "free*"}}])", {.headers = {{"x-plan", "free-tier"}}}, true},
      {R"([{header: {x-plan: "free*"}}])", {.headers = {{"x-plan", "Free"}}}, true},
      {R"([{header: {x-plan: "*"}}])", {}, false},
      {R"([{header: {x-plan: "*"}}])", {.headers = {{"x-plan", ""}}}, true},
      {R"([{header: {x-plan: "free"}}])",
       {.headers = {{"x-plan", "gold"}, {"x-plan", "free"}}},
       true},
      {R"([{header: {x-plan: "free"}}])", {.headers = {{"x-plan", "\t free \t"}}}, true},
      {R"([{header: {x-plan: "free"}}])", {.headers = {{"x-plan", "\vfree\xa0"}}}, true},
      {R"([{not: {header: {x-plan: "free"}}}])", {.headers = {{"x-plan", "free\v"}}}, true},
      {R"([{header: {a: "1", b: "2"}}])", {.headers = {{"a", "1"}}}, false},
      {R"([{header: {a: "1", b: "2"}}])", {.headers = {{"a", "1"}, {"b", "2"}}}, true},
      {R"([{path: "/v1/*", method: [GET, POST], host: api.example, header: {x-plan: "free*"}}])",
       {.headers = {{"x-plan", "free"}}},
       true},
      {R"([{path: "/v1/*", method: [GET, POST], host: api.example, header: {x-plan: "free*"}}])",
       {.method = "PUT", .headers = {{"x-plan", "free"}}},
       false},
      {R"([{path: "/v1/*", method: POST}, {path: "/v2/*", method: GET}])", {}, false},
      {R"({path: ["/v2/*", "/v1/*"]})", {}, true},
      {R"({exact-path: [/a, /b]})", {.path = "/b"}, true},
      {R"({address: 192.0.2.0/24})", {}, true},
      {R"({address: [10.0.0.0/8, "2001:db8::/32"]})", {.peer = "2001:db8::1"}, true},
      {R"({address: [10.0.0.0/8, "2001:db8::/32"]})", {}, false},
      {R"({address: 0.0.0.0/0})", {.peer = ""}, false},
      {R"({has: header:x-api-key})", {}, false},
      {R"({has: header:x-api-key})", {.headers = {{"x-api-key", "k"}}}, true},
      {R"({has: [header:x-api-key, cookie:sid]})", {.headers = {{"x-api-key", "k"}}}, false},
      {R"({has: "query:q"})", {.query = "p=1&%71=2"}, true},
      {R"({has: "query:a_q"})", {.query = "p=1&+a.q%00x=2"}, true},
      {R"({has: "query:q"})", {.query = "p=1;q]=2"}, true},
      // What is there but unclear limits, and does not exempt.
      {R"({has: header:x-api-key})", {.headers = {{"x-api-key", ""}}}, true},
      {R"({not: {has: header:x-api-key}})", {.headers = {{"x-api-key", " , "}}}, true},
      {R"({has: cookie:sid})", {.headers = {{"cookie", "sid=a; sid=b"}}}, true},
      {R"({not: {has: cookie:sid}})", {.headers = {{"cookie", "sid=a; sid=b"}}}, true},
      {R"({not: {has: cookie:sid}})", {.headers = {{"cookie", "sid=a; sid=a"}}}, false},
      {R"({not: {has: cookie:sid}})", {.headers = {{"cookie", "sid=\"\""}}}, true},
      {R"({has: cookie:a_b})", {.headers = {{"cookie", "a.b=1"}}}, true},
      {R"({not: {has: cookie:sid}})", {.headers = {{"cookie", "sid=\"1"}}}, true},
      {R"({not: {has: "query:q"}})", {.query = "q="}, true},
      {R"({not: {header: {x-plan: "free*"}}})", {}, true},
      {R"({not: {header: {x-plan: "free*"}}})", {.headers = {{"x-plan", "free-tier"}}}, false},
      {R"({not: {header: {x-plan: pro}}})",
       {.headers = {{"x-plan", "pro"}, {"x-plan", "free"}}},
       true},
      {R"({not: {path: "/static/*"}})", {.path = "/static/logo"}, false},
      {R"({not: {path: "/static/*"}})", {.path = "/Static/logo"}, true},
      {R"({not: {path: "/static/*"}})", {.path = "/static/../login"}, true},
      {R"({not: {path: "/static/*"}})", {.path = "/static/%2e%2e%2flogin"}, true},
      {R"({not: {path: "/static/*"}})", {.path = "/static/a%2fb/../../login"}, true},
      {R"({not: {exact-path: "/static/*"}})", {.path = "/static/../login"}, true},
      {R"({not: {exact-path: "/static/*"}})", {.path = "/static/logo"}, false},
      {R"({not: [{method: GET}, {address: 10.0.0.0/8}]})", {.peer = "10.1.2.3"}, false},
      {R"({not: [{method: PUT}, {address: 10.0.0.0/8}]})", {}, true}};
  for (const Case& c : cases) {
    // In shadow mode, because policies in force are not asked about a malformed host.
    const auto set = one("mode: shadow, match: "s + c.match);
    ASSERT_NE(set, nullptr);
    EXPECT_EQ(first_match(*set, c.request).matched, c.matches) << c.match;
  }
}

TEST(Match, UnlessLeavesOutWhoSurelyMatchesAnother) {
  const auto set = load(R"(version: 1
policies:
  - {name: anonymous, rate: 10/minute, unless: [pro, team]}
  - {name: pro, rate: 600/minute, match: {header: {x-plan: pro}}}
  - {name: team, rate: 60/minute, mode: "off", match: {path: "/team/*"}}
)");
  ASSERT_NE(set, nullptr);
  const auto names = [&](const TestRequest& request) { return names_of(*set, request); };
  EXPECT_EQ(names({}), "anonymous");
  EXPECT_EQ(names({.headers = {{"x-plan", "pro"}}}), "pro");
  EXPECT_EQ(names({.headers = {{"x-plan", "pro"}, {"x-plan", "free"}}}), "anonymous pro");
  EXPECT_EQ(names({.path = "/team/x"}), "");
  EXPECT_EQ(names({.path = "/Team/x"}), "anonymous");
  EXPECT_EQ(names_of(*set->only(0), {.headers = {{"x-plan", "pro"}}}), "");
}

TEST(Match, AllowedRequestsAreCountedByNoPolicy) {
  const auto set = load(R"(version: 1
allow:
  - {address: [10.0.0.0/8, "fd00::/8"]}
  - {header: {x-probe: kube}}
  - {path: "/health/*", method: GET}
policies:
  - {name: a, rate: 10/minute}
)");
  ASSERT_NE(set, nullptr);
  const auto counted = [&](const TestRequest& request) { return names_of(*set, request) == "a"; };
  EXPECT_TRUE(counted({}));
  EXPECT_FALSE(counted({.peer = "10.1.2.3"}));
  EXPECT_FALSE(counted({.peer = "fd00::1"}));
  EXPECT_TRUE(counted({.peer = ""}));
  EXPECT_FALSE(counted({.headers = {{"x-probe", "kube"}}}));
  EXPECT_FALSE(counted({.path = "/health/live"}));
  for (const char* const path : {"/health/../login", "/health/..%2flogin", "/HEALTH/live"}) {
    EXPECT_TRUE(counted({.path = path})) << path;
  }
  const FieldsUsed used = set->fields_used();
  EXPECT_TRUE(used.path && used.method);
  EXPECT_EQ(used.request_headers.count("x-probe"), 1U);
}

// A proxy passes on the header that it does not set, as the client wrote it.
TEST(Match, NoClientHidesBehindTheAddressOfAProxy) {
  const auto set = load(R"(version: 1
client-address: {trusted-proxies: [10.0.0.1]}
allow: {address: 10.0.0.0/8}
policies:
  - name: all
    quota: 10
    window: 1m
    overrides: [{ids: [10.0.0.0/16], quota: unlimited}, {ids: [10.0.0.1], quota: 20}]
  - {name: others, quota: 10, window: 1m, match: {not: {address: 10.0.0.0/8}}}
  - {name: closed, quota: 0, window: 1m, match: {address: 203.0.113.0/24}}
)");
  using Lines = TestHeaders::Lines;
  const auto names = [&](Lines headers) {
    return names_of(*set, {.peer = "10.0.0.1", .headers = std::move(headers)});
  };
  EXPECT_EQ(names({}), "");
  EXPECT_EQ(names({{"x-forwarded-for", "203.0.113.7"}}), "all others closed");
  EXPECT_EQ(names({{"x-forwarded-for", "203.0.113.7"}, {"forwarded", "for=10.0.0.2"}}),
            "all others closed");
  EXPECT_EQ(names({{"x-forwarded-for", "203.0.113.7"}, {"forwarded", ""}}), "all others closed");
  EXPECT_EQ(names({{"forwarded", "for=\"x, for=198.51.100.7"}}), "all others");
  Lines many(hops_max + 1, {"forwarded", "for=10.0.0.2"});
  many.emplace_back("x-forwarded-for", "198.51.100.7");
  EXPECT_EQ(names(many), "all others");
  EXPECT_EQ(first_match(*set, {.peer = "10.0.0.1", .headers = many}).quota, 10U);
}

TEST(Match, AnOverrideThatGivesLessHoldsForEachClientThatAHeaderNames) {
  const auto set = load(R"(version: 1
client-address: {trusted-proxies: [10.0.0.1]}
policies:
  - name: p
    quota: 10
    window: 1m
    key: [method, address]
    overrides:
      - {ids: [[GET, 203.0.113.5]], quota: 0}
      - {ids: [[GET, 203.0.113.6]], quota: 5}
      - {ids: [[GET, 203.0.113.7]], quota: 20}
      - {ids: [[GET, 203.0.113.8]], quota: unlimited}
)");
  ASSERT_NE(set, nullptr);
  const auto match = [&](const char* forwarded, const char* x_forwarded_for) {
    return first_match(
        *set, {.peer = "10.0.0.1",
               .headers = {{"forwarded", forwarded}, {"x-forwarded-for", x_forwarded_for}}});
  };
  EXPECT_EQ(match("for=1.1.1.1", "203.0.113.5").quota, 0U);
  EXPECT_EQ(match("for=203.0.113.5", "1.1.1.1").quota, 0U);
  EXPECT_EQ(match("for=203.0.113.6", "203.0.113.5").quota, 0U);
  EXPECT_EQ(match("for=203.0.113.6", "1.1.1.1").quota, 5U);
  EXPECT_EQ(match("for=203.0.113.7", "203.0.113.8").quota, 10U);
  EXPECT_EQ(match("for=203.0.113.5", "203.0.113.7").partition, "GET,10.0.0.1");
  EXPECT_EQ(match("for=203.0.113.7", "203.0.113.7").quota, 20U);
  const auto blocks = load(R"(version: 1
client-address: {trusted-proxies: [10.0.0.1]}
policies: [{name: p, quota: 10, window: 1m, overrides: [{ids: [203.0.113.0/24], quota: 0}]}]
)");
  EXPECT_EQ(first_match(*blocks, {.peer = "10.0.0.1",
                                  .headers = {{"forwarded", "for=1.1.1.1"},
                                              {"x-forwarded-for", "203.0.113.9"}}})
                .quota,
            0U);
}

TEST(Match, PreflightsThatAreFreeAreCountedByNoPolicy) {
  const auto set = load(R"(version: 1
cors: {preflights: free}
allow: {path: /health}
policies:
  - {name: a, rate: 10/minute}
)");
  ASSERT_NE(set, nullptr);
  const auto counted = [&](const TestRequest& request) { return names_of(*set, request) == "a"; };
  const TestHeaders::Lines whole{{"origin", "https://a.example"},
                                 {"access-control-request-method", "PUT"}};
  EXPECT_FALSE(counted({.method = "OPTIONS", .headers = whole}));
  EXPECT_FALSE(counted({.path = "/health"}));
  EXPECT_TRUE(counted({.method = "GET", .headers = whole}));
  EXPECT_TRUE(counted({.method = "options", .headers = whole}));
  EXPECT_TRUE(counted({.method = "OPTIONS"}));
  for (const std::size_t missing : {0U, 1U}) {
    TestHeaders::Lines lines = whole;
    lines[missing].second.clear();
    EXPECT_TRUE(counted({.method = "OPTIONS", .headers = lines})) << missing;
    lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(missing));
    EXPECT_TRUE(counted({.method = "OPTIONS", .headers = lines})) << missing;
  }
  EXPECT_EQ(set->fields_used().request_headers.count("origin"), 1U);
}

TEST(Match, AllLinesOfAHeader) {
  TestHeaders::Lines lines(1000, {"x-plan", "gold"});
  const auto set = one(R"(match: [{header: {x-plan: "free"}}])");
  EXPECT_FALSE(first_match(*set, {.headers = lines}).matched);
  lines.emplace_back("x-plan", "free");
  EXPECT_TRUE(first_match(*set, {.headers = lines}).matched);
  // Several lines are the same as one with commas, which many upstreams make of them.
  const auto both = one(R"(match: [{header: {x-role: "admin, write"}}])");
  EXPECT_TRUE(first_match(*both, {.headers = {{"x-role", "admin,write"}}}).matched);
  EXPECT_TRUE(
      first_match(*both, {.headers = {{"x-role", "admin"}, {"x-role", ""}, {"x-role", "Write"}}})
          .matched);
  EXPECT_FALSE(first_match(*both, {.headers = {{"x-role", "write"}, {"x-role", "admin"}}}).matched);
}

// Types of content and schemes of credentials have no case, and programs drop more white space than
// HTTP does.
TEST(Match, AHeaderIsComparedAsItsMostLenientReaderDoes) {
  const auto matches = [](const std::string& part, const std::string& pattern,
                          const std::string& value) {
    const auto set = one("match: [{method: GET, " + part + ": " + pattern + "}]");
    return set && first_match(*set, {.headers = {{"x", value}}}).matched;
  };
  for (const char* const value :
       {"multipart/form-data; boundary=x", "Multipart/Form-Data;boundary=x", "MULTIPART/FORM-DATA",
        "\tmultipart/form-data\xa0", "\vmultipart/form-data"}) {
    EXPECT_TRUE(matches("header", R"({x: "multipart/form-data*"})", value)) << value;
    EXPECT_TRUE(matches("header", R"({x: "*Form-Data*"})", value)) << value;
  }
  for (const char* const value : {"Basic YQ==", "BASIC YQ==", "basic\tYQ==", "Basic  YQ=="}) {
    EXPECT_TRUE(matches("header", R"({x: "Basic *"})", value)) << value;
  }
  const auto basic = one(R"(match: [{header: {authorization: "Basic *"}}])");
  for (const char* const value : {"Basic YQ==", "basic ,YQ==", ",BASIC , YQ==", "basic\t,,YQ=="}) {
    EXPECT_TRUE(first_match(*basic, {.headers = {{"authorization", value}}}).matched) << value;
  }
  EXPECT_FALSE(first_match(*basic, {.headers = {{"authorization", "Bearer Basic"}}}).matched);
  for (const char* const pattern : {"\"a, b\"", "\"a,b\"", "\" A,  b\\u200b\""}) {
    EXPECT_TRUE(matches("header", "{x: "s + pattern + '}', "a ,b")) << pattern;
  }
  EXPECT_FALSE(matches("header", R"({x: "Basic *"})", "Basics YQ=="));
  EXPECT_FALSE(matches("header", R"({x: "a*c*e"})", "aBdE"));
  EXPECT_TRUE(matches("header", R"({x: "a*c*e"})", "aBCdE"));
  // What exempts is compared byte by byte.
  for (const char* const value : {"Pro", "pro\xa0", "pro,pro"}) {
    EXPECT_TRUE(matches("not", R"({header: {x: pro}})", value)) << value;
  }
  EXPECT_FALSE(matches("not", R"({header: {x: pro}})", "pro"));
}

TEST(Match, InForceThenInShadowInFileOrderWithoutOffAndUnlimited) {
  const auto set = load(R"(version: 1
policies:
  - {name: c, quota: 1, window: 1s}
  - {name: off, quota: 1, window: 1s, mode: "off"}
  - {name: a, quota: 1, window: 1s, mode: shadow}
  - {name: other, quota: 1, window: 1s, match: [{path: /other}]}
  - {name: free, quota: 1, window: 1s, overrides: [{ids: [192.0.2.7], quota: unlimited}]}
  - {name: b, quota: 1, window: 1s, key: []}
)");
  const TestHeaders headers({});
  const Request request{"GET", "h", "/", "", Address::parse("192.0.2.7"), &headers, 0};
  Scratch scratch;
  std::string names;
  for (const Match& match : set->match(request, scratch)) {
    names += match.policy->name + ":" + std::string(match.partition) + " ";
  }
  EXPECT_EQ(names, "c:192.0.2.7 b: a:192.0.2.7 ");
}

TEST(Match, ManyLongKeysOfOneRequestStayApart) {
  std::string yaml = "version: 1\npolicies:\n";
  for (std::size_t i = 0; i < policies_per_request_max; ++i) {
    yaml += "  - {name: p" + std::to_string(i) +
            ", quota: 1, window: 1s, key: [header:long, method, path]}\n";
  }
  const auto set = load(yaml);
  const std::string text(5000, '\\');
  const TestHeaders headers({{"long", text}});
  const Request request{"GET", "h", "/p", "", std::nullopt, &headers, 0};
  Scratch scratch;
  const auto matches = set->match(request, scratch);
  ASSERT_EQ(matches.size(), policies_per_request_max);
  std::string escaped;
  for (std::size_t i = 0; i < text.size(); ++i) escaped += "\\\\";
  for (std::size_t i = 0; i < matches.size(); ++i) {
    const std::string name = "p" + std::to_string(i);
    EXPECT_EQ(matches[i].partition, escaped + ",GET,/p");
    EXPECT_EQ(matches[i].key, std::string(1, static_cast<char>(name.size())) + name + "\x88\x27" +
                                  text + "\3GET\2/p");
  }
}

// The matches of a request, or why it is refused.
struct Outcome {
  std::size_t matches = 0;
  Refusal refusal = Refusal::none;
  bool operator==(const Outcome&) const = default;
};

Outcome outcome(const PolicySet& set, const std::string& host, const std::string& path = "/") {
  const TestHeaders headers({});
  const Request request{"GET", host, path, "", Address::parse("192.0.2.7"), &headers, 0};
  Scratch scratch;
  const std::size_t matches = set.match(request, scratch).size();
  return {matches, scratch.refusal};
}

std::string many(std::size_t count, const std::string& name, const std::string& keys) {
  std::string yaml;
  for (std::size_t i = 0; i < count; ++i) {
    yaml += "  - {name: " + name + std::to_string(i) + ", quota: 9, window: 1m, " + keys + "}\n";
  }
  return yaml;
}

const std::string file_begin = "version: 1\npolicies:\n";

TEST(Match, NoPolicyInForceIsLeftOutBehindTooManyOthers) {
  const auto full = load(file_begin + many(policies_per_request_max, "p", "match: {path: /many}"));
  EXPECT_EQ(outcome(*full, "h", "/many"), (Outcome{policies_per_request_max, Refusal::none}));
  const std::string a = many(65, "a", "match: {path: '/a/*'}");
  const std::string b = many(65, "b", "match: {path: '/b/*'}");
  const auto set = load(file_begin + a + b + "  - {name: last, quota: 3, window: 1m}\n");
  EXPECT_EQ(outcome(*set, "h", "/a/x"), (Outcome{66, Refusal::none}));
  EXPECT_EQ(outcome(*set, "h", "//b/a/x"), (Outcome{0, Refusal::too_many}));
  // A policy in shadow mode never denies; and one behind which there is no room is left out.
  const auto shadow = load(file_begin + many(200, "s", "mode: shadow, match: {path: /many}"));
  EXPECT_EQ(outcome(*shadow, "h", "/many"), (Outcome{policies_per_request_max, Refusal::none}));
  const auto mixed = load(file_begin + many(200, "s", "mode: shadow, match: {path: /many}") +
                          "  - {name: last, quota: 3, window: 1m}\n");
  EXPECT_EQ(first_match(*mixed, {.path = "/many"}).quota, 3u);
  const auto candidates =
      load(file_begin + many(127, "p", "match: {path: /many}") +
           "  - {name: c, quota: 3, window: 1m, candidate: {quota: 2}, match: {path: /many}}\n");
  EXPECT_EQ(outcome(*candidates, "h", "/many"), (Outcome{0, Refusal::too_many}));
  const auto unlimited = load(
      file_begin +
      many(200, "p", "match: {path: /many}, overrides: [{ids: [192.0.2.7], quota: unlimited}]"));
  EXPECT_EQ(outcome(*unlimited, "h", "/many"), (Outcome{0, Refusal::none}));
}

TEST(Match, AMalformedHostIsRefusedIfAPolicyInForceAsksForAHost) {
  const std::string tenants = many(9, "t", "match: {host: tenant.example}");
  const std::string all = "  - {name: all, quota: 3, window: 1m}\n";
  const auto set = load(file_begin + tenants + all);
  for (const char* const malformed : {"a..b", "x@y", "node.1", "192.0.2.256", "[::1::2]"}) {
    EXPECT_EQ(outcome(*set, malformed), (Outcome{0, Refusal::unclear_host})) << malformed;
    EXPECT_EQ(outcome(*load(file_begin + all), malformed), (Outcome{1, Refusal::none}))
        << malformed;
  }
  EXPECT_EQ(outcome(*set, "other.example"), (Outcome{1, Refusal::none}));
  EXPECT_EQ(outcome(*set, ""), (Outcome{1, Refusal::none})) << "a host that is not known";
  const auto header = load(file_begin + many(1, "t", "match: {header: {host: tenant.example}}"));
  EXPECT_EQ(outcome(*header, "node.1"), (Outcome{0, Refusal::unclear_host}));
  const auto shadow =
      load(file_begin + many(9, "t", "mode: shadow, match: {host: a.example}") + all);
  EXPECT_EQ(outcome(*shadow, "node.1"), (Outcome{10, Refusal::none}));
  const auto allowed = load("version: 1\nallow: {address: 192.0.2.0/24}\n" +
                            file_begin.substr(file_begin.find('p')) + tenants);
  EXPECT_EQ(outcome(*allowed, "a.example"), (Outcome{0, Refusal::none}));
  EXPECT_EQ(outcome(*allowed, "node.1"), (Outcome{0, Refusal::unclear_host}));
}

TEST(Match, AnAddressAsHostIsOneInAnyNotation) {
  const std::vector<std::string> notations[] = {
      {"192.0.2.7", "0xc0.0.2.7", "3221225991", "192.0.519", "192.0.0x207", "192.0.2.7."},
      {"[2001:db8::1]", "[2001:DB8:0::1]", "[2001:db8:0:0:0:0:0:1]", "[2001:db8::0.0.0.1]"}};
  for (const std::vector<std::string>& all : notations) {
    const std::string& canonical = all.front();
    for (const std::string& pattern : all) {
      if (pattern.ends_with('.')) continue;  // matches no request
      const auto by_host = one("match: {host: '" + pattern + "'}");
      const auto by_header = one("match: {header: {host: '" + pattern + "'}}");
      const auto override_set = one("key: host, overrides: [{ids: ['" + pattern + "'], quota: 7}]");
      for (const std::string& text : all) {
        const TestRequest request{.host = text, .headers = {{"host", text + ":81"}}};
        EXPECT_TRUE(first_match(*by_host, request).matched) << pattern << ' ' << text;
        EXPECT_TRUE(first_match(*by_header, request).matched) << pattern << ' ' << text;
        EXPECT_EQ(first_match(*override_set, request).quota, 7u) << pattern << ' ' << text;
        EXPECT_EQ(partition("['header:host']", request), canonical) << text;
        EXPECT_EQ(partition("['registered-domain:header:host']", request), canonical) << text;
      }
      EXPECT_FALSE(first_match(*by_host, {.host = "127.1"}).matched);
    }
  }
  // Some read the last part as octal.
  for (const char* const pattern : {"192.0.2.8", "192.0.2.10"}) {
    const auto policies = one(std::string("mode: shadow, match: {host: ") + pattern + "}");
    EXPECT_TRUE(first_match(*policies, {.host = "192.0.2.010"}).matched) << pattern;
  }
  // Hosts are looked up by their text.
  EXPECT_TRUE(first_match(*one("match: {host: '*.0.0.1'}"), {.host = "127.1"}).matched);
}

// Some upstreams compare hosts as texts: to them, the other notations are another host.
TEST(Match, AnAddressAsHostExemptsInItsCanonicalFormAlone) {
  for (const char* const pattern : {"127.0.0.1", "127.1", "127.*"}) {
    const auto set = one("key: host", "allow: [{host: '" + std::string(pattern) + "'}]");
    EXPECT_FALSE(first_match(*set, {.host = "127.0.0.1"}).matched) << pattern;
    EXPECT_FALSE(first_match(*set, {.host = "127.0.0.1."}).matched) << pattern;
    for (const char* const text : {"127.1", "2130706433", "[::ffff:127.0.0.1]", "127.0.0.01"}) {
      EXPECT_TRUE(first_match(*set, {.host = text}).matched) << pattern << ' ' << text;
    }
  }
  const auto more = one("key: 'header:host', overrides: [{ids: [127.0.0.1], quota: 20}]");
  EXPECT_EQ(first_match(*more, {.host = "127.0.0.1"}).quota, 20u);
  EXPECT_EQ(first_match(*more, {.host = "127.1"}).quota, 10u);
  EXPECT_EQ(first_match(*more, {.host = "127.1"}).partition, "127.0.0.1");
  const auto by_header = one("", "allow: [{header: {host: '127.1'}}]");
  EXPECT_FALSE(first_match(*by_header, {.host = "127.1", .headers = {{"host", "127.1"}}}).matched);
  EXPECT_TRUE(
      first_match(*by_header, {.host = "127.0.0.1", .headers = {{"host", "127.1"}}}).matched);
}

TEST(Match, AGivenHostIsThatOfRequestsWithAnyPort) {
  const auto set = one("key: host, overrides: [{ids: ['api.example:80'], quota: 7}]");
  std::string text;
  for (const char* const spelling : {"api.example", "API.example:8080", "api.example.:80"}) {
    const auto match = set->named("p", spelling, 1, text);
    ASSERT_TRUE(match);
    EXPECT_EQ(match->partition, "api.example");
    EXPECT_EQ(match->grant->quota.units, 7u);
  }
}

TEST(Match, AGivenAddressIsThatOfRequestsFromAnyPort) {
  const auto set = one("overrides: [{ids: [10.0.0.2], quota: 7}]");
  std::string text;
  for (const char* const spelling : {"10.0.0.2", "10.0.0.2:4711", "[::ffff:10.0.0.2]:80"}) {
    const auto match = set->named("p", spelling, 1, text);
    ASSERT_TRUE(match);
    EXPECT_EQ(match->partition, "10.0.0.2");
    EXPECT_EQ(match->grant->quota.units, 7u);
  }
}

TEST(Match, AGivenNeighbourIsTheSameInEachZone) {
  const auto set = one("");
  std::string text;
  for (const char* const spelling :
       {"fe80::1", "[fe80::2]:4711", "fe80::3%eth0", "[fe80::4%2]", "[fe80::5%eth0]:4711"}) {
    const auto match = set->named("p", spelling, 1, text);
    ASSERT_TRUE(match);
    EXPECT_EQ(match->partition, "fe80::/64") << spelling;
  }
}

TEST(Match, AGivenMethodIsThatOfRequestsInAnySpelling) {
  const auto set = one("key: method, overrides: [{ids: [Put], quota: 7}]");
  std::string text;
  for (const char* const spelling : {"PUT", "put"}) {
    const auto match = set->named("p", spelling, 1, text);
    ASSERT_TRUE(match);
    EXPECT_EQ(match->partition, "PUT");
    EXPECT_EQ(match->grant->quota.units, 7u);
  }
}

TEST(Partition, Address) {
  EXPECT_EQ(partition("[address]", {}), "192.0.2.7");
  EXPECT_EQ(partition("address", {}), "192.0.2.7");
  EXPECT_EQ(partition("[address]", {.peer = "::ffff:192.0.2.7"}), "192.0.2.7");
  EXPECT_EQ(partition("[address]", {.peer = "2001:DB8:0:1:2::3"}), "2001:db8:0:1::/64");
  EXPECT_EQ(
      partition("[address]", {.peer = "2001:db8:0:1:2::3"}, "client-address: {ipv6-prefix: 48}"),
      "2001:db8::/48");
  EXPECT_EQ(partition("[address]", {.peer = "2001:db8::3"}, "client-address: {ipv6-prefix: 128}"),
            "2001:db8::3");
  EXPECT_EQ(partition("[address/24]", {}), "192.0.2.0/24");
  EXPECT_EQ(partition("[address/32]", {}), "192.0.2.7");
  EXPECT_EQ(partition("[address/24]", {.peer = "2001:db8:0:1:2::3"}), "2001:db8:0:1::/64");
  EXPECT_EQ(partition("[address/56]", {.peer = "2001:db8:0:1ff:2::3"}), "2001:db8:0:100::/56");
  EXPECT_EQ(partition("[address/56]", {}), "192.0.2.7");
  EXPECT_EQ(partition("[address]", {.peer = ""}), "");
}

TEST(Partition, BehindATrustedProxy) {
  const std::string trusting = "client-address: {trusted-proxies: [192.0.2.0/24]}";
  const TestRequest request{.headers = {{"x-forwarded-for", "203.0.113.5"}}};
  EXPECT_EQ(partition("[address]", request, trusting), "203.0.113.5");
  EXPECT_EQ(partition("[address]", request), "192.0.2.7");
}

TEST(Partition, Header) {
  EXPECT_EQ(partition("[header:X-Key]", {.headers = {{"x-key", "Abc"}}}), "Abc");
  EXPECT_EQ(partition("[header:x-key]", {}), "");
  EXPECT_EQ(partition("[header:x-key]", {.headers = {{"x-key", "a;b\\c"}}}), "a;b\\c");
  EXPECT_EQ(partition("[header:x-key]", {.headers = {{"x-key", "\x01\xff"s}}}), "\x01\xff");
}

TEST(Partition, AHeaderIsOneKeyHoweverItIsSpelled) {
  const auto of = [](const std::vector<std::string>& values) {
    TestHeaders::Lines lines;
    for (const std::string& value : values) lines.emplace_back("x-key", value);
    return partition("[header:x-key]", {.headers = std::move(lines)});
  };
  for (const char* const one_line : {"a", " a", "a ", "\ta\t", " \t a", "a,", ",a", ", ,a,,"}) {
    EXPECT_EQ(of({one_line}), "a") << one_line;
  }
  EXPECT_EQ(of({"a", ""}), "a");
  EXPECT_EQ(of({"", "", "a"}), "a");
  const std::vector<std::vector<std::string>> lists{{"a", "b"},     {"a, b"},        {"a,b"},
                                                    {"a ,\tb"},     {"a,,b"},        {"a,", "b"},
                                                    {"a", "", "b"}, {" a ", "\tb "}, {"a", ",b"}};
  for (const auto& list : lists) EXPECT_EQ(of(list), "a, b") << list.front();
  EXPECT_EQ(of({"a  b"}), "a b");
  EXPECT_EQ(of({"a\tb"}), "a b");
  EXPECT_EQ(of({"A"}), "A");
  EXPECT_EQ(of({","}), "");
}

// More than HTTP's white space is dropped by programs: `auth.split()` in Python, `trim()` in
// JavaScript.
TEST(Partition, AHeaderIsOneKeyWithAnyWhiteSpace) {
  const auto of = [](std::string value) {
    return partition("[header:X]", {.headers = {{"x", std::move(value)}}});
  };
  for (const std::string space : {"\v", "\f", "\x1c", "\xa0", "\x85", "\xc2\xa0", "\xe2\x80\x83",
                                  "\xef\xbb\xbf", "\xc2\xad", "\xf3\xa0\x80\xa0", " \v\xa0\t"}) {
    EXPECT_EQ(of("secret" + space), "secret") << space;
    EXPECT_EQ(of(space + "secret"), "secret") << space;
    EXPECT_EQ(of("Token" + space + "abc" + space + ",b"), "Token abc, b") << space;
  }
  EXPECT_EQ(of("\v"), "");
  // The end of another character is no space.
  for (const char* const text :
       {"voil\xc3\xa0", "\xd0\xa0\xd0\xbe\xd0\xa0", "\xf0\x9f\x98\x85 a", "\xc3"}) {
    EXPECT_EQ(of(text), text);
  }
}

std::string authorized(std::string value) {
  return partition("[header:Authorization]", {.headers = {{"authorization", std::move(value)}}});
}

TEST(Partition, CredentialsWithoutTheirScheme) {
  for (const char* const value : {"Bearer aBc", "bearer aBc", "BEARER   aBc", "Bearer\taBc ",
                                  "x aBc", "aBc", "Token token=aBc", "Token token=\"aBc\"",
                                  "Token token=\"aBc\", n=\"1\"", "Token n=1, TOKEN=aBc"}) {
    EXPECT_EQ(authorized(value), "aBc") << value;
  }
  EXPECT_EQ(authorized("Bearer aB_-.c~+/=="), "aB_-.c~+/==");
  EXPECT_EQ(authorized("Token a=b"), "a=b");
  EXPECT_EQ(authorized("Bearer"), "Bearer");
  EXPECT_EQ(partition("[header:x]", {.headers = {{"x", "Bearer a 1"}}}), "Bearer a 1");
}

TEST(Partition, ParametersOfCredentialsAreNoWords) {
  for (const char* const parameters :
       {"username=\"a b\", realm=\"c;d\", nc=00000001", "Credential=A/1/x, SignedHeaders=a;b, S=1",
        "Client=\"\\\"x\", Device=\"Living Room\""}) {
    EXPECT_EQ(authorized("DIGEST "s + parameters), "digest "s + parameters);
  }
}

TEST(Partition, CredentialsOfSeveralWordsAreUnclear) {
  // Programs take the first word (passport-jwt), the last one, what follows the last "Bearer " up
  // to a comma (Laravel), or what precedes a ';' (Rails).
  for (const char* const value :
       {"Bearer a 1", "Bearer a, 1", "Bearer a,1", "1 Bearer a", "Bearer a;1", "Bearer a=;1",
        "Bearer a=;1, b=2", "Bearer a==, b=1", "x n=\"1\", c=\"Bearer a,\"", "Token token=a;n=1",
        "Token token=a, token=b", "Token token=a, b", "Bearer a.b=c, d=1", "Bearer a=b c"}) {
    EXPECT_EQ(authorized(value), "") << value;
  }
  // header.replace("Bearer ", "") takes it out wherever it is, and so does one without the space.
  for (const char* const value : {"aBearer bc", "abcBearer ", "Bearerabc", "aBEARERbc",
                                  "Bearer abcBearer", "x aBearerbc", "x a=\"Bearer\", b=1"}) {
    EXPECT_EQ(authorized(value), "") << value;
  }
  // Rails leaves out a quote at either end.
  for (const char* const value : {"Bearer \"abc\"", "Bearer \"abc", "Bearer abc\"",
                                  "Token token=\"abc", "Token token=abc\""}) {
    EXPECT_EQ(authorized(value), "") << value;
  }
  EXPECT_EQ(authorized("OAuth a=\"1\""), "a=\"1\"");
  EXPECT_EQ(partition("[header:authorization]",
                      {.headers = {{"authorization", "Bearer a"}, {"authorization", "Bearer b"}}}),
            "");
}

// Who splits the line at spaces reads "a" as the scheme of ", a b", and "," in front of it.
TEST(Partition, TheSchemeOfCredentialsIsNoPartOfAList) {
  for (const char* const value :
       {", REAL X1", ",REAL X1", "REAL, X1", "REAL,X1", "REAL,", ",REAL", "x, REAL",
        "\xc2\xa0, REAL X1", "Basic, YTpiYg==", ", Basic YTpiYg=="}) {
    EXPECT_EQ(authorized(value), "") << value;
  }
  for (const char* const value : {"x ,REAL", "x REAL,", "x , ,REAL", "x\t,REAL"}) {
    EXPECT_EQ(authorized(value), "REAL") << value;
  }
  const auto lines = [](const char* first, const char* second) {
    return partition("[header:authorization]",
                     {.headers = {{"authorization", first}, {"authorization", second}}});
  };
  EXPECT_EQ(lines("", "Bearer a"), "");
  EXPECT_EQ(lines(" ", "REAL"), "");
  EXPECT_EQ(lines("Bearer", "REAL"), "REAL");
  EXPECT_EQ(lines("Digest a=\"1\"", "b=\"2\""), "digest a=\"1\", b=\"2\"");
}

TEST(Partition, TokensHaveTheirSignatureInOneForm) {
  const std::string head = "eyJh.eyJi";
  // PyJWT and PHP's drop what is no base64, and everybody the bits that are no byte.
  for (const std::string signature : {"YTpiPj8_Yg", "YTpiPj8_Yg==", "YTp!iPj8_Y*g", "!YTpiPj8/Yh",
                                      "~~~~YTpiPj8_Yg=", "YTpiPj8_Yp"}) {
    const std::string token = head + '.' + signature;
    const std::string form = head + ".YTpiPj8_Yg";
    EXPECT_EQ(authorized("Bearer " + token), form) << signature;
    EXPECT_EQ(partition("[header:x]", {.headers = {{"x", token}}}), form) << signature;
    EXPECT_EQ(partition("[cookie:sid]", {.headers = {{"cookie", "sid=" + token}}}), form);
    EXPECT_EQ(partition("[query:k]", {.query = "k=" + token}), form) << signature;
    // Flask begins a session that it has packed with a '.'.
    EXPECT_EQ(partition("[cookie:sid]", {.headers = {{"cookie", "sid=.eJxy.YQ." + signature}}}),
              ".eJxy.YQ.YTpiPj8_Yg");
  }
  EXPECT_EQ(authorized("Bearer " + head + ".YTpi=YmM"), "");
  EXPECT_EQ(partition("[cookie:sid]", {.headers = {{"cookie", "sid=eyJh.YQ=.YQ=a"}}}), "");
  // Encrypted ones have five parts, of which only the first is signed as it is spelt.
  EXPECT_EQ(authorized("Bearer eyJh..YW!E.YWE=.Y!WE"), "eyJh..YWE.YWE.YWE");
  for (const char* const other : {"eyJh", "a.b!.c", "xeyJh.b!", "eyJ!", ".eJ!"}) {
    EXPECT_EQ(partition("[header:x]", {.headers = {{"x", other}}}), other);
  }
}

// What Remix and itsdangerous sign is a text in JSON, if it is no object: the id of a session.
TEST(Partition, SignedTextsHaveTheirSignatureInOneForm) {
  const std::string signature = "LZd-bxrd5y4G_XwkVb4nkZoMzY_GwWP4NdrfYzVJIJ0";
  for (const std::string text : {"ImFiIg==", "ImFiYyI", "ImFiYyI=", "ImFiYWJjIg", "ImFiY2Qi"}) {
    const auto of = [&](const std::string& value) {
      return partition("[header:x]", {.headers = {{"x", value}}});
    };
    const std::string form = text + '.' + signature;
    EXPECT_EQ(of(form), form);
    EXPECT_EQ(of(text + ".!LZd+bxrd5y4G/XwkVb4nkZoMzY/GwWP4NdrfYzVJIJ2="), form);
    EXPECT_EQ(of(text + ".aX8eQx." + signature), text + ".aX8eQw." + signature);
  }
  for (const char* const other :
       {"Illinois.us!", "Ij.LZd-bxrd5y4G_XwkVb4nkZoMzY_GwWP4NdrfYzVJIJ1", "Ih.!", "ImFiYyI.us!"}) {
    EXPECT_EQ(partition("[header:x]", {.headers = {{"x", other}}}), other);
  }
}

// Remix' signatures have a '+', which in cookies is a space. atob() passes over white space.
TEST(Partition, SignedCookiesHaveTheirSignatureInOneForm) {
  const auto of = [](const std::string& signature) {
    return partition("[cookie:sid]",
                     {.headers = {{"cookie", "sid=eyJhIjoxfQ%3D%3D." + signature}}});
  };
  const std::string form = "eyJhIjoxfQ==.LZdbxrd5y4G_XwkVb4nkZoMzY_GwWP4NdrfYzVJIJw";
  for (const char* const signature : {"LZd%2Bbxrd5y4G%2FXwkVb4nkZoMzY%2FGwWP4NdrfYzVJIJ0",
                                      "LZd+bxrd5y4G/XwkVb4nkZoMzY/GwWP4NdrfYzVJIJ2",
                                      "LZd-bxrd5y4G_XwkVb4nkZoMzY_GwWP4NdrfYzVJIJ0",
                                      "LZd%2B%20bx%0Ard5y4G/XwkVb4nkZoMzY/GwWP4NdrfYzVJIJ1="}) {
    EXPECT_EQ(of(signature), form) << signature;
  }
  EXPECT_EQ(of("LZd=+bxrd"), "");
  // SHA-1, as itsdangerous signs texts, with nine '-'.
  EXPECT_EQ(partition("[cookie:sid]",
                      {.headers = {{"cookie", "sid=ImFiYyI.L-Z-d-b-x-r-d-5-y-4GXwkVb4n"}}}),
            "ImFiYyI.LZdbxrd5y4GXwkVb4g");
}

// Elixir's decoder ignores bits that are no byte.
TEST(Partition, SessionsOfPhoenixHaveOneForm) {
  const auto of = [](const std::string& value) {
    return partition("[cookie:_app_key]", {.headers = {{"cookie", "_app_key=" + value}}});
  };
  EXPECT_EQ(of("SFMyNTY.g3QAAAABbQAA.LZd-bxrd5y4G_XwkVb4nkZoMzYGwWP4NdrfYzVJIJ0"),
            of("SFMyNTY.g3QAAAABbQAA.LZd-bxrd5y4G_XwkVb4nkZoMzYGwWP4NdrfYzVJIJ3"));
  EXPECT_EQ(of("QTEyOEdDTQ.aX8eQw.bX8eQw.cX8eQw.dX8eQw"),
            of("QTEyOEdDTQ.aX8eQx.bX8eQ_.cX8eQz.dX8eQy"));
  EXPECT_EQ(of("QTEyOEdDTQ.aX8eQw.bX8eQw.cX8eQw.dX8eQw"),
            of("QTEyOEdDTf==.aX8eQw.bX8eQw.cX8eQw.dX8eQw"));
  EXPECT_EQ(of("QTEyOEdDTg.aX8eQx"), "QTEyOEdDTg.aX8eQx") << "another name";
  EXPECT_EQ(of("XCP.aX8eQw"), of("XCP.aX8eQ_"));
  EXPECT_NE(of("XCP.aX8eQw"), of("XCP.aX8eRw"));
}

// .NET passes over white space in base64.
TEST(Partition, WhatAspNetCoreEncryptsHasOneForm) {
  const auto of = [](const std::string& value) {
    return partition("[cookie:.AspNetCore.Session]",
                     {.headers = {{"cookie", ".AspNetCore.Session=" + value}}});
  };
  for (const char* const value :
       {"CfDJ8N+xYzAb_Qw", "CfDJ8N%2BxYzAb%2FQw", "CfDJ8N-x%20Yz%0aAb_Qx==", "CfDJ8%20N+xYzAb/Qw",
        "CfDJ8NxYzAb_Qw"}) {
    EXPECT_EQ(of(value), "CfDJ8NxYzAb_Qw") << value;
  }
  for (const char* const value : {"C%20fDJ8NxYzAb_Qw", "%09Cf%0d%0aDJ8NxYzAb_Qw"}) {
    EXPECT_EQ(of(value), "CfDJ8NxYzAb_Qw") << value;
  }
  EXPECT_EQ(of("CfDJ8N=xY"), "");
  EXPECT_EQ(of("CfDJ9N%0Ax"), "CfDJ9N\nx");
}

// ASP.NET splits what does not fit into one cookie, and takes any session that is split.
TEST(Partition, SessionsThatAspNetHasSplitAreOneKey) {
  const auto of = [](std::string line) {
    return partition("[cookie:.AspNetCore.Cookies]", {.headers = {{"cookie", std::move(line)}}});
  };
  const std::string name = ".AspNetCore.Cookies";
  EXPECT_EQ(of(name + "=CfDJ8NxYzAb_Qw"), "CfDJ8NxYzAb_Qw");
  for (const char* const count : {"chunks-2", "chunks-02", "chunks-0002", "chunks:2"}) {
    EXPECT_EQ(of(name + '=' + count + "; " + name + "C2=Ab_Qw; " + name + "C1=CfDJ8NxYz"),
              "CfDJ8NxYzAb_Qw")
        << count;
  }
  EXPECT_EQ(of(name + "=chunks-1; " + name + "C1=CfDJ8NxYzAb_Qw"), "CfDJ8NxYzAb_Qw");
  for (const char* const line : {"chunks-2; .AspNetCore.CookiesC1=CfDJ8NxYz", "chunks-0", "chunks-",
                                 "chunks-x", "chunks-99999999999999999999", "chunks-9"}) {
    EXPECT_EQ(of(name + '=' + line), "") << line;
  }
  EXPECT_EQ(of(name + "=chunky"), "chunky");
}

// Auth.js joins all cookies whose names begin so, wherever the session is split.
TEST(Partition, SessionsThatAuthJsHasSplitAreOneKey) {
  const std::string name = "__Secure-authjs.session-token";
  const auto of = [&](std::string line) {
    return partition("[cookie:" + name + ']', {.headers = {{"cookie", std::move(line)}}});
  };
  const std::string form = "eyJh..YWE.YWE.YWE";
  EXPECT_EQ(of(name + '=' + form), form);
  EXPECT_EQ(of(name + ".1=WE.YWE.YWE; x=y; " + name + ".0=eyJh..Y"), form);
  for (const std::string& line :
       {name + "=eyJh; " + name + ".1=..YWE.YWE.YWE",
        name + ".0=eyJh; " + name + ".2=..YWE.YWE.YWE",
        name + ".0=eyJh; " + name + "x.1=..YWE.YWE.YWE", name + ".1=eyJh..YWE.YWE.YWE"}) {
    EXPECT_EQ(of(line), "") << line;
  }
  // Other programs have cookies with such names beside each other.
  EXPECT_EQ(partition("[cookie:sid]", {.headers = {{"cookie", "sid=1; sid.sig=2; sid.0=3"}}}), "1");
}

TEST(Partition, WhatIronSessionHasSealedHasOneForm) {
  const auto of = [](const std::string& version) {
    return partition("[cookie:sid]",
                     {.headers = {{"cookie", "sid=Fe26.2*1*a*b-_*c**d*e" + version}}});
  };
  for (const char* const version : {"~2", "~02", "~2x", "~2~a~b", "~%202", "%7E2", ""}) {
    EXPECT_EQ(of(version), "Fe26.2*1*a*b-_*c**d*e") << version;
  }
}

// Python's base64 passes over what is none.
TEST(Partition, WhatFernetEncryptsHasOneForm) {
  const std::string form = "gAAAAABrCPNKYTpiPj8_Yg";
  for (const char* const value :
       {"gAAAAABrCPNKYTpiPj8_Yg==", "gA!AAAABrCP~NKYTpiPj8/Yh==", "*gAAAAABrCPNKYTpiPj8_Yg==="}) {
    EXPECT_EQ(partition("[header:x-auth-token]", {.headers = {{"x-auth-token", value}}}), form);
    EXPECT_EQ(partition("[cookie:sid]", {.headers = {{"cookie", "sid="s + value}}}), form);
    EXPECT_EQ(authorized("Bearer "s + value), form);
  }
  EXPECT_EQ(partition("[header:x]", {.headers = {{"x", "gAAAAABrCPNKYg==YTpi"}}}), "");
}

// Go's decoder takes any bits that are no byte: gorilla/sessions signs what is in them not.
TEST(Partition, Base64WithPaddingHasOneForm) {
  for (const char c : {'g', 'h', 'i', 'v'}) {
    const std::string value = "MTc5NTc0OTY3M3xEWDhFQVFMY"s + c + "==";
    EXPECT_EQ(partition("[cookie:sid]", {.headers = {{"cookie", "sid=" + value}}}),
              "MTc5NTc0OTY3M3xEWDhFQVFMYg==");
  }
  for (const char c : {'M', 'N', 'O', 'P'}) {
    EXPECT_EQ(authorized("Bearer MTc5NTc0OTY3M3xEWDhFQVFMY"s + c + "I="),
              "MTc5NTc0OTY3M3xEWDhFQVFMY"s + c + "I=");
    EXPECT_EQ(authorized("Bearer MTc5NTc0OTY3M3xEWDhFQVFMYm"s + c + "="),
              "MTc5NTc0OTY3M3xEWDhFQVFMYmM=");
  }
  // oauth2-proxy: the data and the time are signed as they are spelt.
  for (const char c : {'M', 'N', 'O', 'P'}) {
    EXPECT_EQ(
        partition(
            "[cookie:_oauth2_proxy]",
            {.headers = {{"cookie",
                          "_oauth2_proxy=YWE=|1795749673|MTc5NTc0OTY3M3xEWDhFQVFMYm"s + c + "="}}}),
        "YWE=|1795749673|MTc5NTc0OTY3M3xEWDhFQVFMYmM=");
  }
  // Hono and Better Auth: base64 that may have a '+', which in cookies is a space.
  for (const char* const signature : {"LZd%2Bbxrd5y4G%2FXwkVb4nkZoMzY%2FGwWP4NdrfYzVJIJ0%3D",
                                      "LZd+bxrd5y4G/XwkVb4nkZoMzY/GwWP4NdrfYzVJIJ0=",
                                      "LZd+bxrd5y4G/XwkVb4nkZoMzY/GwWP4NdrfYzVJIJ3=",
                                      "LZd%2Bbxrd5y4G/XwkVb4nkZoMzY/GwWP4NdrfYzVJIJ1="}) {
    EXPECT_EQ(partition("[cookie:sid]", {.headers = {{"cookie", "sid=ann.smith."s + signature}}}),
              "ann.smith.LZd bxrd5y4G/XwkVb4nkZoMzY/GwWP4NdrfYzVJIJ0=")
        << signature;
  }
  for (const char* const last : {"8", "9", "+", "%2B", "/"}) {
    const std::string value = "LZd+bxrd5y4G/XwkVb4nkZoMzY/GwWP4NdrfYzVJIJ"s + last + '=';
    EXPECT_EQ(partition("[cookie:sid]", {.headers = {{"cookie", "sid=ann." + value}}}),
              "ann.LZd bxrd5y4G/XwkVb4nkZoMzY/GwWP4NdrfYzVJIJ8=");
  }
  EXPECT_EQ(partition("[header:x]", {.headers = {{"x", "for ann: MTc5NTc0OTY3M3xEWDhFQVFMYmN="}}}),
            "for ann: MTc5NTc0OTY3M3xEWDhFQVFMYmM=");
  for (const char* const other : {"abZ=", "MTc5NTc0OTY3M3xEWDhFQVFMY.Z=",
                                  "MTc5NTc0OTY3M3xEWDhFQVFMYmN", "MTc5NTc0OTY3M3xEWDhFQVFMYmN=="}) {
    EXPECT_EQ(partition("[header:x]", {.headers = {{"x", other}}}), other);
  }
}

TEST(Partition, Cookie) {
  const auto of = [](TestHeaders::Lines lines) {
    return partition("[cookie:sid]", {.headers = std::move(lines)});
  };
  EXPECT_EQ(of({{"cookie", "sid=1"}}), "1");
  EXPECT_EQ(of({{"cookie", "a=b; sid=1; c=d"}}), "1");
  EXPECT_EQ(of({{"cookie", "a=b;sid=1;c=d"}}), "1");
  EXPECT_EQ(of({{"cookie", "sid=1; sid=2"}}), "");
  EXPECT_EQ(of({{"cookie", "sid=1"}, {"cookie", "a=b; sid=2"}}), "");
  EXPECT_EQ(of({{"cookie", "a=b"}, {"cookie", "sid=1"}}), "1");
  EXPECT_EQ(of({{"cookie", "sid=a=b=="}}), "a=b==");
  EXPECT_EQ(of({{"cookie", "sid=1; sid=1"}}), "1");
  EXPECT_EQ(of({{"cookie", "sid=1"}, {"cookie", "sid=%31"}}), "1");
  EXPECT_EQ(of({{"cookie", "sid=%73ession%34%32"}}), "session42");
  EXPECT_EQ(of({{"cookie", "sid=\"session42\""}}), "session42");
  EXPECT_EQ(of({{"cookie", "sid=\"\\163ession\\42\""}}), "session42");
  EXPECT_EQ(of({{"cookie", "sid=a+b%2bc%20d"}}), "a b c d");
  EXPECT_EQ(of({{"cookie", "sid=\""}}), "");
  EXPECT_EQ(of({{"cookie", "sid=100%"}}), "100%");
  EXPECT_EQ(of({{"cookie", "sid="}}), "");
  EXPECT_EQ(of({{"cookie", "xsid=1; sidx=2; x.sid=3; sid"}}), "");
  EXPECT_EQ(of({{"cookie", " ; ;= ;sid = 1 "}}), "1");
  EXPECT_EQ(of({{"cookie", "sid=%201%0a"}}), "1");
  EXPECT_EQ(of({{"cookie", "sid\f=\v1"}}), "1");
  EXPECT_EQ(of({{"cookie", "sid=\"1 2\""}}), "1 2");
  EXPECT_EQ(of({{"cookie", "sid=\"1 2\\\"\""}}), "1 2\"");
  EXPECT_EQ(of({{"cookie", "sid=1; a=b c"}}), "1");
  EXPECT_EQ(of({{"cookie", "sid=%u0073ession%u34%u00e9"}}), "session%u34%u00e9");  // CGI.pm
  EXPECT_EQ(of({}), "");
}

// A reading that the policy lets in is the key, also if it is that of few programs.
TEST(Partition, APathIsCountedAsOneThatThePolicyLetsIn) {
  for (const char* const path : {"/login", "/login//../", "/login/x/..//../../login"}) {
    EXPECT_EQ(partition("[path], match: [{path: /login}]", {.path = path}), "/login") << path;
  }
  EXPECT_EQ(partition("[path], match: [{path: /}]", {.path = "/login//../"}), "/");
}

// Python's http.cookies ends a value at white space, and finds another cookie behind it. Others
// take all up to the ';', and decode base64 without the space.
TEST(Partition, CookiesThatMayEndInsideAreUnclear) {
  for (const char* const line :
       {"sid=1 x", "sid=1\va=b", "sid=\"1 2\" a=b", "sid=\"1 2\\\"\"x", "sid=\"1 2",
        "sid=\"1\" \"2\"", "sid=2; a=b sid=1", "sid=2; a=\"b sid=1\"", "sid=2; a=b\vsid\f=\v1",
        "sid=2; a= sid=\"1\"", "sid=2; a=\"\" sid=\"1\"", "sid= sid=\"\\061\"", "sid=\vsid=\"1\"",
        "sid=2; a=\tsid =1",
        // WebOb ends it there.
        "sid=1\"2", "sid=1[2", "sid=1]2", "sid=1\\2", "sid=1\xe4"}) {
    EXPECT_EQ(partition("[cookie:sid]", {.headers = {{"cookie", line}}}), "") << line;
  }
  for (const char* const value : {"eyJh.YWJj.YWJj YWJj~", "eyJh.YWJj.YWJjYW Jj~"}) {
    EXPECT_EQ(partition("[cookie:sid]", {.headers = {{"cookie", "sid="s + value}}}), "") << value;
  }
}

// Express' cookie-parser reads JSON behind "j:", of which a text has many forms.
TEST(Partition, CookiesInJson) {
  const auto of = [](std::string line) {
    return partition("[cookie:sid]", {.headers = {{"cookie", std::move(line)}}});
  };
  for (const char* const value : {"j:\"abc\"", "j%3A%22abc%22", "j:%20\"a\\u0062c\"", "j: \"abc\"",
                                  "j:42", "j:[\"abc\"]", "j:"}) {
    EXPECT_EQ(of("sid="s + value), "") << value;
  }
  EXPECT_EQ(of("sid=j:%7B%22a%22:1%7D"), "j:{\"a\":1}");
  EXPECT_EQ(of("sid=aj:1"), "aj:1");
}

TEST(Partition, CookiesAsAspNetReadsThem) {
  const auto of = [](std::string line) {
    return partition("[cookie:sid]", {.headers = {{"cookie", std::move(line)}}});
  };
  // It ignores the case of names, and passes over what is no name before one.
  for (const char* const line : {"SID=1", "sid=1; Sid=1", "@sid=1", "a=b; \"x/sid=1"}) {
    EXPECT_EQ(of(line), "1") << line;
  }
  // It ends values at commas and other characters, and looks for a cookie behind them. The last
  // cookie of a name counts.
  for (const char* const line :
       {"sid=2; SID=1", "sid=1,2", "sid=2; a=b,sid=1", "sid=2; a=b\\sid=1", "sid=2; a=b\xe9SID=1",
        "sid=2; a=\"b sid=1,\"", "sid=2; x@sid=1"}) {
    EXPECT_EQ(of(line), "") << line;
  }
  for (const char* const line :
       {"sid=2; a=b&sid=1", "sid=2; a=/x?sid=1", "sid=2; a=b,asid=1,sid"}) {
    EXPECT_EQ(of(line), "2") << line;
  }
  // It is a character of cookies (RFC 6265), which classic ASP writes between several values.
  EXPECT_EQ(of("sid=u=1&s=2"), "u=1&s=2");
}

TEST(Partition, TheServerInTheIdOfAJavaSessionDoesNotCount) {
  const auto of = [](std::string key, std::string line) {
    return partition("[\"cookie:"s + key + "\"]", {.headers = {{"cookie", std::move(line)}}});
  };
  for (const char* const value :
       {"node0ab", "node0ab.node0", "node0ab.1", "node0ab!1!2", "node0ab:1"}) {
    EXPECT_EQ(of("JSESSIONID", "JSESSIONID="s + value), "node0ab");
  }
  EXPECT_EQ(of("sid", "sid=a.1"), "a.1");
}

TEST(Partition, BasicCredentialsInOneForm) {
  for (const char* const value :
       {"Basic YTpiPj8/Yg==", "basic YTpiPj8/Yg",
        "BASIC YTpiPj8/Yg=", "Basic YTpiPj8/Yh==", "Basic YT.pi!Pj8/Yg", "Basic .YTpiPj8/Yg==!",
        "Basic  YTpiPj8/Yg===", "Basic YTpiPj8/Yg\xa0", "Basic YTpiPj8/Yg==,",
        "Basic ,YTpi:Pj8/Yg"}) {
    EXPECT_EQ(authorized(value), "YTpiPj8/Yg==") << value;
  }
  EXPECT_EQ(authorized("Basic YTpi"), "YTpi");
  EXPECT_EQ(authorized("Basic YTpiY"), "YTpi");
  EXPECT_EQ(authorized("Basic YTpiYmP"), "YTpiYmM=");
  EXPECT_EQ(authorized("Basic"), "Basic");
  EXPECT_EQ(authorized("Basically a.b="), "a.b=");
  EXPECT_EQ(partition("[header:x]", {.headers = {{"x", "Basic a.b="}}}), "Basic a.b=");
}

// Programs decode the word behind the scheme, whatever that is.
TEST(Partition, UserAndPasswordAreOneKeyBehindAnyScheme) {
  for (const char* const value :
       {"x YTpiPj8/Yg==", "Bearer YTpiPj8/Yg", "x YTpi:!Pj8/Y*h", "YTpi.Pj8/Yg"}) {
    EXPECT_EQ(authorized(value), "YTpiPj8/Yg==") << value;
  }
  for (const char* const value : {"x YTp-iPj8/Yg", "x YT=piPj8/Yg==", "x YTpiPj8_Yg",
                                  "x YTpiYg==-x", "x YTpiPj8/Yg==\xff!a"}) {
    EXPECT_EQ(authorized(value), "") << value;
  }
  // Neither a text with a ':' nor one at all.
  for (const char* const token :
       {"YWJj!", "5|abcdefgh", "sk-proj_Abc-d", "T\u043e", "a.b.c", "AAAA:AAAA"}) {
    EXPECT_EQ(authorized("x "s + token), token);
  }
}

TEST(Partition, BasicCredentialsThatDecodersReadInSeveralWaysAreUnclear) {
  // Of several words, programs read all or the first. Node takes '-' and '_' for '+' and '/', and
  // stops at a '='; Python and PHP pass over them.
  for (const char* const value :
       {"Basic YTpi YmM=", "Basic YTpi,YmM=", "Basic YTpiYg== a", "Basic YTpiYg==a", "Basic =YTpi",
        "Basic YTpi=YmM", "Basic YT=piYmM", "Basic -YTpi", "Basic YTpi--", "Basic Y_TpiYmM"}) {
    EXPECT_EQ(authorized(value), "") << value;
  }
}

TEST(Partition, PathsThatUpstreamsReadInSeveralWays) {
  const auto of = [](std::string path) { return partition("[path]", {.path = std::move(path)}); };
  for (const char* const path :
       {"/path/login", "/path/login;%2f0", "/path/login;%2f1", "/path/login;/1", "/path/login;%5c2",
        "/path/login;\\3", "/path/login;x/"}) {
    EXPECT_EQ(of(path), "/path/login") << path;
  }
  EXPECT_EQ(of("/path/login;%2f..%2flogin"), "/path/login");
  // What is /path/login for the one and any path for the other is no key.
  EXPECT_EQ(of("/random;%2f../path/login"), "");
  EXPECT_EQ(of("/path/login;%2f..%2f..%2frandom"), "");
  EXPECT_EQ(of("/path/login;%2f..%2f..%2fpath%2flogin2"), "");
  EXPECT_EQ(of("/;%2fx"), "/");
  for (const char* const n : {"1", "2"}) {
    EXPECT_EQ(of("//host" + std::string(n) + "/login"), "");
    EXPECT_EQ(of("/x/" + std::string(n) + "%2fy/../login"), "");
  }
  EXPECT_EQ(of("/path/login%0a"), "/path/login");
}

TEST(Partition, CookieAsLenientUpstreamsReadIt) {
  const auto of = [](std::string line) {
    return partition("[cookie:my_sid]", {.headers = {{"cookie", std::move(line)}}});
  };
  // No quote ends: cookie 0.6 of Node drops any last character.
  EXPECT_EQ(of("my_sid=\"secretX"), "");
  EXPECT_EQ(of("my_sid=\"secret\\"), "");
  EXPECT_EQ(of("a=b; my_sid=\"secretX; my_sid=secret"), "");
  // Spaces beyond ASCII, in Latin-1 (Node, Starlette) and UTF-8 (Django).
  for (const std::string space :
       {"\xa0", "\x85", "\x1f", "\xc2\xa0", "\xe2\x80\x83", " \xa0\t\xa0"}) {
    EXPECT_EQ(of("my_sid=secret" + space), "secret") << space;
    EXPECT_EQ(of("a=b;" + space + "my_sid" + space + "=" + space + "secret" + space + ";c=d"),
              "secret")
        << space;
    EXPECT_EQ(of(space + "my_sid=secret; my_sid=random"), "") << space;
  }
  EXPECT_EQ(of("my_sid=\"secret\"\xa0"), "secret");
  EXPECT_EQ(of("my_sid=a%c3%a4"), "a\xc3\xa4");
  EXPECT_EQ(of("my_sid=a\xc3\xa4"), "");
  for (const std::string name :
       {"my.sid", "my sid", "my[sid", "[my_sid]", "my%5fsid", "my_sid%00"}) {
    EXPECT_EQ(of(name + "=secret"), "secret") << name;
    EXPECT_EQ(of("my_sid=random; " + name + "=secret"), "") << name;
    EXPECT_EQ(of(name + "=secret; my_sid=secret"), "secret") << name;
  }
  EXPECT_EQ(of("my-sid=1; mysid=2; my__sid=3"), "");
  const TestRequest plus{.headers = {{"cookie", "a+b=1; a.c=2"}}};
  EXPECT_EQ(partition("[cookie:a+b]", plus), "1");
  EXPECT_EQ(partition("[cookie:a.c]", plus), "2");
}

TEST(Partition, Query) {
  const auto of = [](std::string query) {
    return partition("[\"query:api key\"]", {.query = std::move(query)});
  };
  EXPECT_EQ(of("api%20key=1"), "1");
  EXPECT_EQ(of("api+key=1&api+key=2"), "");
  EXPECT_EQ(of("api+key&a=b&%61pi%20key=2"), "");
  EXPECT_EQ(of("api+key=1&api+key=%31"), "1");
  EXPECT_EQ(of("a=b&%61pi%20ke%79=x%2Cy+z%2b"), "x,y z+");
  EXPECT_EQ(of("api+key"), "");
  EXPECT_EQ(of("api+key=%"), "%");
  EXPECT_EQ(of("api+key=%4"), "%4");
  EXPECT_EQ(of("api+key=%zz%-1%+1"), "%zz%-1% 1");
  EXPECT_EQ(of("api+key=a%00b"), "a\0b"s);
  EXPECT_EQ(of("api+keys=1&api+ke=2"), "");
  EXPECT_EQ(of("&&=&api+key=1"), "1");
  EXPECT_EQ(of(""), "");
}

// Laravel trims arguments, and takes for white space what nobody sees, too.
TEST(Partition, WhiteSpaceAroundAnArgumentMakesNoKey) {
  const auto of = [](std::string query) {
    return partition("[query:k]", {.query = std::move(query)});
  };
  for (const std::string space :
       {"+",         "%20",       "%0a",          "%0B",          "%00",
        "\xa0",      "%A0",       "\xc2%a0",      "%C2\xa0",      "%e2%80%83",
        "%E2%80%8B", "%EF%BB%BF", "%C2%AD",       "%CD%8F",       "%e1%85%A0",
        "%E2%A0%80", "%E2%81%A5", "%F0%9D%85%B3", "%F3%A0%80%A0", "+%20%09\x85+"}) {
    EXPECT_EQ(of("k=a+b" + space), "a b") << space;
    EXPECT_EQ(of("k=" + space + "a%20b"), "a b") << space;
    EXPECT_EQ(of("k=a+b&k=" + space + "a+b" + space + "&x"), "a b") << space;
    EXPECT_EQ(of("k=" + space), "") << space;
  }
  EXPECT_EQ(of("k=voil%C3%A0"), "voil\xc3\xa0");
  EXPECT_EQ(of("k=a%CC%AD"), "a\xcc\xad");
  EXPECT_EQ(of("k=%%20"), "%");
  EXPECT_EQ(of("k=%2%20"), "%2");
  EXPECT_EQ(of("k=%"), "%");
  EXPECT_EQ(of("k=%252"), "%2");
}

TEST(Partition, QueryNamesAsLenientUpstreamsReadThem) {
  const char* const spellings[] = {
      "api_key",       "+api_key",   "%20+api_key", "api.key",      "api+key",     "api%2Ekey",
      "api[key",       "api%5bkey",  "api_key%00x", "api_key%00",   "[api_key]",   "[api_key",
      "api_key]",      "]api_key]]", "api_key[]",   "api_key[0]",   "x=1;api_key", "x;+api.key%00",
      "%5Bapi_key%5D", "API_Key",    "%41pi.KEY",   "api%u005fkey", "?api_key"};
  for (const std::string spelling : spellings) {
    const auto of = [](std::string query) {
      return partition("[query:api_key]", {.query = std::move(query)});
    };
    EXPECT_EQ(of(spelling + "=secret"), "secret") << spelling;
    EXPECT_EQ(of("api_key=secret&" + spelling + "=%73ecret"), "secret") << spelling;
    EXPECT_EQ(of("api_key=random&" + spelling + "=secret"), "") << spelling;
    EXPECT_EQ(of(spelling + "=secret&api_key=random"), "") << spelling;
  }
}

// Its middleware and edge functions take off these words, in which it hands parameters of paths on.
TEST(Partition, QueryNamesAsNextReadsThem) {
  const auto of = [](std::string query) {
    return partition("[query:k]", {.query = std::move(query)});
  };
  for (const std::string name : {"nxtPk", "nxtIk", "%6extPk", "nxtP%6b"}) {
    EXPECT_EQ(of(name + "=secret"), "secret") << name;
    EXPECT_EQ(of("k=random&" + name + "=secret"), "") << name;
  }
  EXPECT_EQ(of("k=1&nxtpk=2&nxtXk=2&nxtP=2&nxt=2&nxtPnxtPk=2"), "1");
}

TEST(Partition, QueryWithSemicolonsIsReadBothWays) {
  const auto of = [](std::string query) {
    return partition("[query:k]", {.query = std::move(query)});
  };
  EXPECT_EQ(of("k=random;k=secret"), "");
  EXPECT_EQ(of("k=secret;x=random"), "");
  EXPECT_EQ(of("k=secret;random"), "");
  EXPECT_EQ(of("k=random&x=1;k=secret"), "");
  EXPECT_EQ(of("k=secret&x=1;y=2"), "secret");
  EXPECT_EQ(of("k=1%3bx=2"), "1;x=2");
}

// Fastify up to 4 begins the query at a ';' of the path.
TEST(Partition, ArgumentsMayBeginInThePath) {
  const auto of = [](std::string path, std::string query) {
    return partition("[query:k]", {.path = std::move(path), .query = std::move(query)});
  };
  EXPECT_EQ(of("/x;k=secret", ""), "secret");
  EXPECT_EQ(of("/x;a=1&K=%73ecret", ""), "secret");
  EXPECT_EQ(of("/x;a=1/y;b=2", "k=secret"), "secret");
  EXPECT_EQ(of("/x;k=secret&z", "k=random"), "");
  EXPECT_EQ(of("/x;k=secret&z", "&k=secret"), "secret");
  EXPECT_EQ(of("/x;z&k=secret", "&k=random"), "");
  EXPECT_EQ(of("/x;k=random", "k=secret"), "");
  EXPECT_EQ(of("/x;k=random", "1&k=secret"), "");
}

// h3 1 decodes the path before it looks for a '?', and all of what follows once more.
TEST(Partition, ArgumentsMayBeginAtAnEncodedQuestionMark) {
  const auto of = [](std::string path, std::string query) {
    return partition("[query:k]", {.path = std::move(path), .query = std::move(query)});
  };
  for (const char* const rest :
       {"k=secret&", "K%3dsecret&", "a=b%26k=secret&", "%6b&", "a&k", "=k=secret&"}) {
    EXPECT_EQ(of("/x%3f"s + rest, "?k=random"), "") << rest;
    EXPECT_EQ(of("/x%3F"s + rest, ""), "") << rest;
  }
  for (const char* const rest : {"", "kk=1&", "a%3fk", "a/k"}) {
    EXPECT_EQ(of("/x%3f"s + rest, "k=secret"), "secret") << rest;
  }
  EXPECT_EQ(of("/k=1&k%3fx", "k=secret"), "secret");
}

TEST(Partition, ArgumentsAsCgiPmDecodesThem) {
  EXPECT_EQ(partition("[query:k]", {.query = "k=%u0073%65cret"}), "secret");
  EXPECT_EQ(partition("[query:k]", {.query = "k=secret&k=%u0073ecret"}), "secret");
  EXPECT_EQ(partition("[query:k]", {.query = "k=%u00e9%u0173%u007%U0073"}),
            "%u00e9%u0173%u007%U0073");
}

TEST(Partition, QueryNamesOfOtherArguments) {
  const auto of = [](const std::string& name, std::string query) {
    return partition("[\"query:" + name + "\"]", {.query = std::move(query)});
  };
  for (const char* const other : {"k=", "apikey=", "api_keys=", "api__key=", "api-key=", "api_ke=",
                                  "api_key+=", "api_key.=", "x[api_key]=", "api%00_key="}) {
    EXPECT_EQ(of("api_key", other + "1"s), "") << other;
  }
  // A name that the policy writes so is that name, and no other.
  EXPECT_EQ(of("api.key", "api.key=1&api_key=2&api+key=3"), "1");
  EXPECT_EQ(of("a[b]", "a[b]=1&a[c]=2&a=3"), "1");
  EXPECT_EQ(of("[b]", "[b]=1&b=2"), "1");
  EXPECT_EQ(of(" b", "+b=1&b=2"), "1");
  EXPECT_EQ(of("a;b", "a;b=1"), "1");
}

TEST(Partition, HostPathMethodAndDomain) {
  EXPECT_EQ(partition("[host]", {.host = "API.Example."}), "api.example");
  EXPECT_EQ(partition("[host]", {.host = "[::FF]"}), "[::ff]");
  for (const char* const malformed : {"u0@api.example", "%61pi.example", "h\\x?", "[api]", "\xff",
                                      "x1..api.example", ".api.example", "api.example..", "."}) {
    EXPECT_EQ(partition("['registered-domain:header:host']",
                        {.host = malformed, .headers = {{"host", malformed}}}),
              "@")
        << malformed;
    EXPECT_EQ(partition("[host]", {.host = malformed}), "@") << malformed;
  }
  // The header is the same one, whatever port and case its line has.
  EXPECT_EQ(partition("['header:host']",
                      {.host = "API.Example.", .headers = {{"host", "API.Example.:80"}}}),
            "api.example");
  EXPECT_EQ(partition("['header:host']", {.host = "", .headers = {{"host", "H:1"}}}), "h");
  EXPECT_EQ(partition("['header:host']", {.host = "", .headers = {{"host", "u@h"}}}), "@");
  EXPECT_EQ(partition("['header:host']", {.host = ""}), "");
  EXPECT_EQ(partition("['registered-domain:header:host']",
                      {.host = "WWW.b.example", .headers = {{"host", "WWW.b.example:81"}}}),
            "b.example");
  EXPECT_EQ(partition("[path]", {}), "/v1/things");
  EXPECT_EQ(partition("[path]", {.path = "/V1//x/../%74hings/;a"}), "/v1/things");
  EXPECT_EQ(partition("[method]", {}), "GET");
  const std::string domain = "[registered-domain:header:X-Site]";
  EXPECT_EQ(partition(domain, {.headers = {{"x-site", "WWW.Example.co.uk"}}}), "example.co.uk");
  EXPECT_EQ(partition(domain, {.headers = {{"x-site", "localhost"}}}), "localhost");
  EXPECT_EQ(partition(domain, {}), "");
  EXPECT_EQ(partition(domain, {.headers = {{"x-site", "a.example"}, {"x-site", "B.example"}}}),
            "a.example, b.example");
}

TEST(Partition, AMethodIsOneKeyInAnyCase) {
  EXPECT_EQ(partition("[method]", {.method = "Post"}), "POST");
}

TEST(Partition, OfSeveralPartsIsEscaped) {
  const TestRequest request{.headers = {{"a", "x,y\\"}, {"b", "z"}}};
  EXPECT_EQ(partition("[header:a, header:b]", request), "x\\, y\\\\,z");
  EXPECT_EQ(partition("[header:a, header:c]", request), "x\\, y\\\\,");
  EXPECT_EQ(partition("[header:c, header:d]", request), ",");
  EXPECT_EQ(partition("[]", request), "");
}

TEST(Key, IsLengthPrefixed) {
  EXPECT_EQ(first_match(*one(""), {}).key,
            "\1p\x09"
            "192.0.2.7");
  EXPECT_EQ(first_match(*one("key: []"), {}).key, "\1p");
  EXPECT_EQ(first_match(*one("key: [method, header:none]"), {}).key, "\1p\3GET\0"s);
  EXPECT_EQ(first_match(*one("key: path"), {.path = std::string(300, 'x')}).key,
            "\1p\xac\2" + std::string(300, 'x'));
}

TEST(Cost, FromTheRequest) {
  struct Case {
    const char* cost;
    TestRequest request;
    std::uint64_t units;
    bool defaulted;
  };
  const char* const header = "{request-header: X-Cost}";
  const auto with = [](std::string value) {
    return TestRequest{.headers = {{"x-cost", std::move(value)}}};
  };
  const Case cases[] = {
      {"1", {}, 1, false},
      {"0", {}, 0, false},
      {"999999999999999", {}, 999'999'999'999'999, false},
      {"request-bytes", {.body_bytes = 0}, 0, false},
      {"request-bytes", {.body_bytes = 12345}, 12345, false},
      {"request-bytes", {.body_bytes = ~std::uint64_t{0}}, limit::Quota::cost_max, false},
      {"request-bytes", {.body_bytes = std::nullopt}, 1, true},
      {header, {}, 1, true},
      {header, with("7"), 7, false},
      {header, with("0"), 0, false},
      {header, with("007"), 7, false},
      {header, with("\t7 \t"), 7, false},
      {header, with("999999999999999"), 999'999'999'999'999, false},
      {header, with("1000000000000000"), limit::Quota::cost_max, false},
      {header, with("99999999999999999999999999999999999999"), limit::Quota::cost_max, false},
      {header, with(""), 1, true},
      {header, with("-1"), 1, true},
      {header, with("+1"), 1, true},
      {header, with("1.5"), 1, true},
      {header, with("1e3"), 1, true},
      {header, with("0x10"), 1, true},
      {header, with("1 2"), 1, true},
      {header, with("many"), 1, true},
      {header, {.headers = {{"x-cost", "2"}, {"x-cost", "3"}}}, 1, true}};
  for (const Case& c : cases) {
    const auto set = one("cost: "s + c.cost);
    ASSERT_NE(set, nullptr);
    const FirstMatch answer = first_match(*set, c.request);
    EXPECT_EQ(answer.cost, c.units) << c.cost;
    EXPECT_EQ(answer.cost_defaulted, c.defaulted) << c.cost << " " << answer.cost;
  }
}

TEST(Cost, FromTheResponse) {
  struct Case {
    const char* cost;
    TestHeaders::Lines headers;
    std::uint64_t body_bytes;
    std::uint64_t units;
    bool defaulted;
  };
  const char* const header = "{response-header: X-Tokens}";
  const Case cases[] = {
      {"response-bytes", {}, 0, 0, false},
      {"response-bytes", {}, 12345, 12345, false},
      {"response-bytes", {}, ~std::uint64_t{0}, limit::Quota::cost_max, false},
      {header, {}, 5, 1, true},
      {header, {{"x-tokens", "812"}}, 5, 812, false},
      {header, {{"x-tokens", "0"}}, 5, 0, false},
      {header, {{"x-tokens", "9999999999999999999999"}}, 5, limit::Quota::cost_max, false},
      {header, {{"x-tokens", "-1"}}, 5, 1, true},
      {header, {{"x-tokens", "1.5"}}, 5, 1, true},
      {header, {{"x-tokens", ""}}, 5, 1, true},
      {header, {{"x-tokens", "1"}, {"x-tokens", "2"}}, 5, 1, true}};
  for (const Case& c : cases) {
    const auto set = one("refund-on: 5xx, cost: "s + c.cost);
    ASSERT_NE(set, nullptr);
    const Policy& policy = set->policies().front();
    EXPECT_EQ(policy.cost_time, CostTime::response);
    EXPECT_TRUE(policy.terms.late);
    EXPECT_EQ(first_match(*set, {}).cost, 1U);
    EXPECT_FALSE(first_match(*set, {}).cost_defaulted);
    const TestHeaders headers(c.headers);
    Cost cost = set->late_cost(policy, {200, c.body_bytes, &headers});
    EXPECT_EQ(cost.units, c.units) << c.cost;
    EXPECT_EQ(cost.defaulted, c.defaulted) << c.cost;
    cost = set->late_cost(policy, {503, c.body_bytes, &headers});
    EXPECT_EQ(cost.units, 0U) << "refund-on";
    EXPECT_FALSE(cost.defaulted);
  }
  const auto set = one("cost: "s + header);
  const Cost cost = set->late_cost(set->policies().front(), {});
  EXPECT_EQ(cost.units, 1U) << "no response";
  EXPECT_TRUE(cost.defaulted);
}

TEST(Cost, OnlyTheResponsesOwnAreLate) {
  for (const char* const cost : {"1", "request-bytes", "{request-header: x}"}) {
    EXPECT_EQ(one("cost: "s + cost)->policies().front().cost_time, CostTime::request) << cost;
  }
}

class OneNumber final : public BodyNumbers {
 public:
  [[nodiscard]] std::optional<std::uint64_t> number(std::string_view path) const noexcept override {
    return path == "usage.total_tokens" ? std::optional<std::uint64_t>(312) : std::nullopt;
  }
};

TEST(Cost, IsReservedAndThenSettled) {
  struct Case {
    const char* reserve;
    const char* settle;
    std::uint64_t reserved;
    std::uint64_t settled;
    bool defaulted;
  };
  const Case cases[] = {
      {"1000", "response-bytes", 1000, 77, false},
      {"1000", "{response-header: X-Tokens}", 1000, 812, false},
      {"1000", "{response-header: X-None}", 1000, 1, true},
      {"{request-header: X-Most}", "{response-json: usage.total_tokens}", 40, 312, false},
      {"{estimate: 95%}", "{response-json: usage.input_tokens}", 50, 1, true}};
  const OneNumber numbers;
  for (const Case& c : cases) {
    const auto set = load(
        "version: 1\npolicies:\n  - {name: p, quota: 5000, window: 1m, refund-on: 5xx, cost: "
        "{reserve: "s +
        c.reserve + ", settle: " + c.settle + "}}\n");
    ASSERT_NE(set, nullptr) << c.settle;
    const Policy& policy = set->policies().front();
    EXPECT_EQ(policy.cost_time, CostTime::reserved);
    EXPECT_TRUE(policy.is_settled());
    EXPECT_TRUE(policy.terms.late) << "an under-estimate is owed";
    EXPECT_EQ(first_match(*set, {.headers = {{"x-most", "40"}}}).cost, c.reserved) << c.reserve;
    const TestHeaders headers(TestHeaders::Lines{{"x-tokens", "812"}});
    const Cost cost = set->late_cost(policy, {200, 77, &headers, &numbers});
    EXPECT_EQ(cost.units, c.settled) << c.settle;
    EXPECT_EQ(cost.defaulted, c.defaulted) << c.settle;
    EXPECT_EQ(set->late_cost(policy, {503, 77, &headers, &numbers}).units, 0U) << "refund-on";
    EXPECT_EQ(set->late_cost(policy, {200, 77, &headers}).defaulted,
              c.defaulted || set->response_member(policy) == "usage.total_tokens")
        << "no body was read";
  }
}

TEST(Cost, DoorsLearnWhetherTheBodyCounts) {
  EXPECT_FALSE(one("")->needs_body_bytes());
  EXPECT_FALSE(one("cost: {request-header: content-length}")->needs_body_bytes());
  EXPECT_TRUE(one("cost: request-bytes")->needs_body_bytes());
  EXPECT_FALSE(one("cost: request-bytes, mode: \"off\"")->needs_body_bytes());

  const auto uploads = load(
      "version: 1\npolicies:\n"
      "  - {name: a, quota: 20, window: 1m, key: [method], cost: request-bytes, match: [{path: "
      "/up}],"
      " overrides: [{ids: [PUT], quota: 7}, {ids: [PATCH], quota: unlimited}]}\n"
      "  - {name: b, quota: 10, window: 1m, cost: request-bytes, match: [{path: /up, host: b}]}\n"
      "  - {name: c, quota: 1, window: 1m, cost: request-bytes, mode: shadow, match: [{path: "
      "/u*}]}\n"
      "  - {name: d, quota: 2, window: 1m}\n");
  Scratch scratch;
  const TestHeaders headers{{}};
  const auto wanted = [&](std::string_view method, std::string_view host, std::string_view path) {
    Request request;
    request.method = method;
    request.host = host;
    request.path = path;
    request.headers = &headers;
    return uploads->body_bytes_wanted(request, scratch);
  };
  EXPECT_EQ(wanted("POST", "a", "/up"), 20u);
  EXPECT_EQ(wanted("POST", "b", "/up"), 10u);
  EXPECT_EQ(wanted("PUT", "b", "/up"), 7u);
  EXPECT_EQ(wanted("PATCH", "a", "/up"), limit::Quota::cost_max) << "shadow policies want it all";
  EXPECT_EQ(wanted("POST", "a", "/u"), limit::Quota::cost_max);
  EXPECT_EQ(wanted("POST", "a", "/down"), std::nullopt);
}

TEST(Override, ByAddressBits) {
  const auto set =
      one("overrides: [{ids: [\"::ffff:10.0.0.2\", 10.0.0.5], quota: 200}, {ids: "
          "[\"2001:DB8::7\"], quota: 300}, "
          "{ids: [2001:db8:1::/64], window: 2m}, {ids: [\"\"], quota: 4}]");
  EXPECT_EQ(first_match(*set, {}).quota, 10U);
  EXPECT_EQ(first_match(*set, {.peer = "10.0.0.2"}).quota, 200U);
  EXPECT_EQ(first_match(*set, {.peer = "10.0.0.5"}).quota, 200U);
  EXPECT_EQ(first_match(*set, {.peer = "2001:db8:0:0:1:2:3:4"}).quota, 300U);
  EXPECT_EQ(first_match(*set, {.peer = ""}).quota, 4U);
  const auto longer = set->named("p", "2001:db8:1::1", 1, *std::make_unique<std::string>());
  EXPECT_EQ(longer->grant->quota.units, 10U);
  EXPECT_TRUE(longer->grant->quota.window == 120 * nanos_per_second);
}

TEST(Override, OfBlocksTheSmallestBlockCounts) {
  const auto set =
      one("overrides: [{ids: [10.0.0.0/8, \"2001:db8::/32\"], quota: 20}, "
          "{ids: [10.1.0.0/16, 10.2.0.0/16], quota: 30}, {ids: [10.1.0.7], quota: 40}]");
  const auto quota = [&](const char* peer) { return first_match(*set, {.peer = peer}).quota; };
  EXPECT_EQ(quota("10.200.0.1"), 20U);
  EXPECT_EQ(quota("10.1.2.3"), 30U);
  EXPECT_EQ(quota("10.2.2.3"), 30U);
  EXPECT_EQ(quota("10.1.0.7"), 40U);
  EXPECT_EQ(quota("11.0.0.1"), 10U);
  EXPECT_EQ(quota("2001:db8:5::1"), 20U);
  EXPECT_EQ(quota("2001:db9::1"), 10U);
  EXPECT_EQ(quota(""), 10U);
  std::string text;
  EXPECT_EQ(set->named("p", "10.1.2.3", 1, text)->grant->quota.units, 30U);
  EXPECT_EQ(set->named("p", "no address", 1, text)->grant->quota.units, 10U);
}

// Of the readings of a path, a key regards those that the policy is for.
TEST(Partition, OfAPathIsTheReadingThatThePolicyIsFor) {
  const auto set = load(R"(version: 1
policies:
  - {name: v1, quota: 10, window: 1m, key: path, match: {path: "/v1/*"}}
  - {name: all, quota: 10, window: 1m, key: path}
  - {name: again, quota: 10, window: 1m, key: path}
)");
  const auto keys = [&](std::string path) {
    return with_matches(*set, {.path = std::move(path)}, [](std::span<const Match> matches) {
      std::string all;
      for (const Match& match : matches) all += std::string(match.partition) + ' ';
      return all;
    });
  };
  EXPECT_EQ(keys("/V1/login/"), "/v1/login /v1/login /v1/login ");
  EXPECT_EQ(keys("//v1//login"), "/v1/login   ");
  EXPECT_EQ(keys("//host/v1/login"), "/v1/login   ");
  EXPECT_EQ(keys("/v1/x%2fy/../login"), "   ");
  EXPECT_EQ(keys("//v1"), "/v1 / / ");
}

TEST(Partition, OfAPolicyAndItsCandidateIsOne) {
  const auto set = load(R"(version: 1
policies:
  - name: p
    quota: 10
    window: 1m
    key: path
    candidate: {quota: 3}
    overrides: [{ids: [/login], quota: 5}]
)");
  with_matches(*set, {.path = "//host/login"}, [](std::span<const Match> matches) {
    ASSERT_EQ(matches.size(), 2U);
    EXPECT_EQ(matches[0].partition, "/login");
    EXPECT_EQ(matches[0].grant->quota.units, 5U);
    EXPECT_EQ(matches[1].partition, "/login");
    EXPECT_EQ(matches[1].grant->quota.units, 3U);
  });
}

// What an override gives beyond the policy's own quota is for its path alone; what it takes is for
// every spelling.
TEST(Override, OfAPathNeverExemptsByFolding) {
  const auto set =
      one("key: [path, method], overrides: ["
          "{ids: [[/health, GET]], quota: unlimited}, {ids: [[/Big/, GET]], quota: 20}, "
          "{ids: [[/fast, GET]], quota: 5, window: 20s}, {ids: [[/Small, GET]], quota: 5}]");
  const auto quota = [&](const char* path) { return first_match(*set, {.path = path}).quota; };
  EXPECT_FALSE(first_match(*set, {.path = "/health"}).matched);
  for (const char* const path :
       {"/Health", "/health/", "/health;x", "/admin/../health", "/%68ealth"}) {
    EXPECT_EQ(quota(path), 10U) << path;
  }
  EXPECT_EQ(quota("/Big/"), 20U);
  EXPECT_EQ(quota("/big"), 10U);
  EXPECT_EQ(quota("/fast"), 5U);
  EXPECT_EQ(quota("/Fast"), 10U);
  for (const char* const path : {"/Small", "/small", "/small/", "//SMALL;x"}) {
    EXPECT_EQ(quota(path), 5U) << path;
  }
  std::string text;
  EXPECT_TRUE(set->named("p", "/health,GET", 1, text)->grant->unlimited);
  EXPECT_FALSE(set->named("p", "/Health,GET", 1, text)->grant->unlimited);
  EXPECT_EQ(set->named("p", "/small/,GET", 1, text)->grant->quota.units, 5U);
}

// A request that is counted under another grant than its key's own leaves the key's state as it is:
// a state is cut to the window with which it is used.
TEST(Override, OfAnotherWindowHasAStateOfItsOwn) {
  const auto set = load(R"(version: 1
client-address: {trusted-proxies: [10.0.0.1]}
policies:
  - name: p
    quota: 10
    window: 1m
    key: [address, path]
    overrides:
      - {ids: [[10.0.0.1, /long]], quota: 1000, window: 1d}
      - {ids: [[10.0.0.1, /more]], quota: 1000}
      - {ids: [[10.0.0.2, /]], quota: 1, window: 1d}
  - {name: q, quota: 7, window: 1m, key: [address, path]}
)");
  ASSERT_NE(set, nullptr);
  using Keys = std::pair<std::string, std::string>;
  const auto keys = [&](const char* path, const char* forwarded = "") {
    TestHeaders::Lines headers;
    if (*forwarded != '\0') headers = {{"forwarded", forwarded}, {"x-forwarded-for", "1.1.1.1"}};
    return with_matches(*set, {.path = path, .peer = "10.0.0.1", .headers = headers},
                        [&](std::span<const Match> matches) {
                          EXPECT_EQ(matches.size(), 2U);
                          EXPECT_EQ(matches[0].partition, matches[1].partition);
                          return Keys(matches[0].key, matches[1].key);
                        });
  };
  EXPECT_NE(keys("/long").first, keys("/Long").first);
  EXPECT_EQ(keys("/LONG").first, keys("/Long").first) << "all other spellings have one";
  EXPECT_EQ(keys("/long").second, keys("/Long").second) << "of a policy without overrides";
  EXPECT_EQ(keys("/more").first, keys("/More").first) << "windows are alike";
  EXPECT_NE(keys("/").first, keys("/", "for=10.0.0.2").first)
      << "the lesser override of another one";
  std::string text;
  EXPECT_EQ(set->named("p", "10.0.0.1,/Long", 1, text)->key, keys("/Long").first);
  EXPECT_EQ(set->named("p", "10.0.0.1,/long", 1, text)->key, keys("/long").first);
}

// Requests that are counted under several other grants leave each other's states as they are, too,
// also if the key itself is unlimited.
TEST(Override, ThatIsUnlimitedSharesNoStateWithLesserOnes) {
  const auto set = load(R"(version: 1
client-address: {trusted-proxies: [10.0.0.1]}
policies:
  - name: p
    quota: 10
    window: 20s
    overrides:
      - {ids: [10.0.0.1], quota: unlimited}
      - {ids: [10.0.0.2], quota: 1, window: 2s}
      - {ids: [10.0.0.3], quota: 1}
)");
  ASSERT_NE(set, nullptr);
  const auto key = [&](const char* forwarded) {
    return with_matches(
        *set,
        {.peer = "10.0.0.1", .headers = {{"x-forwarded-for", "1.1.1.1"}, {"forwarded", forwarded}}},
        [](std::span<const Match> matches) {
          return matches.empty() ? "none" : std::string(matches[0].key);
        });
  };
  EXPECT_EQ(key("for=10.0.0.3"), key("for=10.0.0.4")) << "windows are alike";
  EXPECT_NE(key("for=10.0.0.2"), key("for=10.0.0.3"));
}

TEST(Override, OfFixedWindowsThatOweHasAStateOfItsOwn) {
  const auto keys_differ = [](const char* terms, const char* override) {
    const auto set = load(std::string("version: 1\npolicies:\n  - {name: p, key: path, ") + terms +
                          ", overrides: [{ids: [/Admin], " + override + "}]}\n");
    std::string own;
    std::string other;
    return set->named("p", "/Admin", 1, own)->key != set->named("p", "/admin", 1, other)->key;
  };
  const char* const window = "quota: 5, window: 10s, algorithm: fixed-window";
  EXPECT_FALSE(keys_differ(window, "quota: 50"));
  EXPECT_TRUE(keys_differ((std::string(window) + ", delay: 10s").c_str(), "quota: 50"))
      << "a debt is at most one quota";
  EXPECT_FALSE(keys_differ("burst: 20, count: 40, period: 1s", "burst: 40, count: 80, period: 1s"))
      << "of both, the whole quota is back after half a second";
}

// Overrides that give less hold in each reading of a path.
TEST(Override, OfAPathThatGivesLessIsNotEscaped) {
  const auto set = load(R"(version: 1
policies:
  - name: p
    quota: 10
    window: 1m
    key: [method, path]
    overrides:
      - {ids: [[GET, /login]], quota: 5}
      - {ids: [[GET, /x]], quota: 20}
  - {name: q, quota: 7, window: 1m, key: [method, path]}
)");
  for (const char* const path :
       {"/login", "/login/", "/login%0a", "//host/login", "//host/Login/", "/x;%2f..%2flogin",
        "/login;%2f..%2fx", "/a/b%2fc/../../login", "/login#1"}) {
    const bool matched = with_matches(*set, {.path = path}, [&](std::span<const Match> matches) {
      EXPECT_EQ(matches.size(), 2U);
      EXPECT_EQ(matches[0].partition, "GET,/login") << path;
      EXPECT_EQ(matches[0].grant->quota.units, 5U) << path;
      EXPECT_EQ(matches[1].grant->quota.units, 7U) << path;
      return true;
    });
    EXPECT_TRUE(matched);
  }
  with_matches(*set, {.path = "//host/login"},
               [](std::span<const Match> matches) { EXPECT_EQ(matches[1].partition, "GET,"); });
  with_matches(*set, {.path = "//host/x"}, [](std::span<const Match> matches) {
    EXPECT_EQ(matches[0].partition, "GET,");
    EXPECT_EQ(matches[0].grant->quota.units, 10U);
  });
}

TEST(Override, OfSeveralPartsAndNumbers) {
  const auto set =
      one("key: [header:user, method], overrides: [{ids: [[alice, GET], [7, GET]], quota: 99}]");
  EXPECT_EQ(first_match(*set, {.headers = {{"user", "alice"}}}).quota, 99U);
  EXPECT_EQ(first_match(*set, {.headers = {{"user", "7"}}}).quota, 99U);
  EXPECT_EQ(first_match(*set, {.method = "PUT", .headers = {{"user", "alice"}}}).quota, 10U);
  EXPECT_EQ(first_match(*one("key: [header:user], overrides: [{ids: [7], rate: 5/s}]"),
                        {.headers = {{"user", "7"}}})
                .quota,
            5U);
}

TEST(Override, ChangesItsIdsOnly) {
  std::string yaml = "key: [header:user], overrides: [";
  for (int i = 0; i < 1000; ++i) {
    yaml += "{ids: [user" + std::to_string(i) + "], quota: " + std::to_string(1000 + i) + "}, ";
  }
  const auto set = one(yaml + "{ids: [nobody], quota: unlimited}]");
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(first_match(*set, {.headers = {{"user", "user" + std::to_string(i)}}}).quota,
              static_cast<std::uint64_t>(1000 + i));
  }
  EXPECT_EQ(first_match(*set, {.headers = {{"user", "user1000"}}}).quota, 10U);
  EXPECT_FALSE(first_match(*set, {.headers = {{"user", "nobody"}}}).matched);
}

TEST(Named, ReachesTheKeyOfTheSameClient) {
  struct Case {
    const char* key;
    TestRequest request;
    const char* partition;
  };
  const Case cases[] = {
      {"[address]", {}, "192.0.2.7"},
      {"[address]", {}, "::ffff:192.0.2.7"},
      {"[address]", {}, "192.0.2.7/32"},
      {"[address]", {.peer = "2001:db8::1:2"}, "2001:DB8:0::9"},
      {"[address]", {.peer = "2001:db8::1:2"}, "2001:db8::/64"},
      {"[address/24]", {}, "192.0.2.0/24"},
      {"[address/24]", {}, "192.0.2.99"},
      {"[header:k]", {.headers = {{"k", "a,b"}}}, "a,b"},
      {"[host]", {}, "API.example"},
      {"[header:k]", {.headers = {{"k", "a"}, {"k", "b"}}}, " a,b "},
      {"[header:authorization]", {.headers = {{"authorization", "BEARER x"}}}, "Bearer  x"},
      {"[cookie:k]", {.headers = {{"cookie", "k=a+b"}}}, "a+b"},
      {"[path]", {.path = "/V1/./Things;x"}, "/v1/things/"},
      {"[path]", {.path = "/v1/things"}, "/v1/things;%2fx"},
      {"[path]", {.path = "/a%255cb"}, "/a%255cb"},
      {"[path]", {.path = "/a%23b"}, "/a%23b"},
      {"[path]", {.path = "/100%25"}, "/100%"},
      {"[header:authorization]", {.headers = {{"authorization", "Basic YQ"}}}, "basic YR=="},
      {"[registered-domain:header:k]", {.headers = {{"k", "example.com"}}}, "www.example.com"},
      {"[]", {}, ""},
      {"[address, method]", {}, "::ffff:192.0.2.7,GET"},
      {"[header:k, method]", {.headers = {{"k", "a,b\\"}}}, "a\\,b\\\\,GET"}};
  for (const Case& c : cases) {
    const auto set = one("key: "s + c.key);
    ASSERT_NE(set, nullptr);
    std::string text;
    const auto named = set->named("p", c.partition, 3, text);
    ASSERT_TRUE(named);
    const FirstMatch expected = first_match(*set, c.request);
    EXPECT_EQ(named->key, expected.key) << c.key << " " << c.partition;
    EXPECT_EQ(named->partition, expected.partition) << c.key << " " << c.partition;
    EXPECT_EQ(named->cost, 3U);
  }
}

TEST(Named, AnyTextIsAKey) {
  std::string text;
  const auto by_address = one("");
  for (const std::string_view partition :
       {"a", "", "10.0.0.0/8", "10.0.0.300:80", "10.0.0.2:alice", "[::1]:x", "2001:db8::/32",
        "10.0.0.2%eth0", "10.0.0.2%eth0:80", "[%eth0]"}) {
    const auto match = by_address->named("p", partition, 1, text);
    ASSERT_TRUE(match);
    EXPECT_EQ(match->partition, partition);
    EXPECT_EQ(match->key,
              "\1p" + std::string(1, static_cast<char>(partition.size())) + std::string(partition));
  }
  const auto by_two = one("key: [method, path]");
  for (const std::string_view partition : {"GET", "GET,/,x", "GET\\,/"}) {
    EXPECT_EQ(by_two->named("p", partition, 1, text)->partition, partition);
  }
  EXPECT_EQ(one("key: []")->named("p", "x", 1, text)->key, "\1p\1x");
}

TEST(Named, LeavesTheVerdictToTheCaller) {
  const auto set =
      one("mode: \"off\", match: [{path: /never}], key: [path], "
          "overrides: [{ids: [x], quota: unlimited}, {ids: [y], quota: 3}]");
  std::string text;
  EXPECT_FALSE(set->named("q", "x", 1, text));
  EXPECT_FALSE(set->named("", "x", 1, text));
  EXPECT_TRUE(set->named("p", "x", 1, text)->grant->unlimited);
  EXPECT_EQ(set->named("p", "y", 1, text)->grant->quota.units, 3U);
  EXPECT_EQ(set->named("p", "z", 1, text)->policy->mode, Mode::off);
  EXPECT_EQ(set->named("p", "z", ~std::uint64_t{0}, text)->cost, limit::Quota::cost_max);
}

}  // namespace
}  // namespace headgate::policy
