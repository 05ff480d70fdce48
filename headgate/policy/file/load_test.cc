#include "headgate/policy/file/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <variant>

namespace headgate::policy {
namespace {

std::shared_ptr<const PolicySet> load(const std::string& yaml) {
  const Loaded loaded = load_text(yaml, "test.yaml");
  if (loaded) return *loaded;
  for (const Fault& fault : loaded.error()) ADD_FAILURE() << fault.text() << "\n" << yaml;
  return load_text("version: 1\npolicies: [{name: none, quota: 0, window: 1}]", "none").value();
}

const Policy& only(const std::shared_ptr<const PolicySet>& set) { return set->policies().front(); }

TEST(Load, EveryKeyOfTheFile) {
  const auto set = load(R"(version: 1
client-address:
  trusted-proxies: [127.0.0.1, "::1", 10.0.0.0/8, "unix:"]
  ipv6-prefix: 56
fields: [x-ratelimit, ratelimit, draft-03]
partition-key: opaque
retry-after-jitter: 10%
report: closest
report-when: below 20%
problem-details: false
cors: {expose-headers: true, preflights: free}
decisions: {file: /var/log/d, which: all, sample: 10%, format: text, key: plain}
upstream-prefix: edge-
store: {table: {memory: 64KiB, file: /var/lib/headgate/table}}
policies:
  - name: burst
    quota: 100
    window: 1m
    algorithm: linear
    key: [address]
    match:
      - {path: "/v1/*", method: [GET, POST], host: api.example, header: {x-plan: "free*"}}
    unit: requests
    cost: 1
    denied: free
    reset: pace
    refund-on: [5xx, 304]
    mode: enforce
    status: 429
    overrides:
      - {ids: ["10.0.0.2", "10.0.0.5"], quota: 200}
      - {ids: ["10.0.0.9"], quota: unlimited}
)");
  const Settings& s = set->settings();
  EXPECT_EQ(s.client_address.trusted_proxies.size(), 3U);
  EXPECT_TRUE(s.client_address.trust_unix);
  ASSERT_TRUE(s.decisions);
  EXPECT_EQ(s.decisions->file, "/var/log/d");
  EXPECT_EQ(s.decisions->which, LoggedDecisions::all);
  EXPECT_EQ(s.decisions->sample_percent, 10U);
  EXPECT_EQ(s.decisions->format, LogFormat::text);
  EXPECT_EQ(s.decisions->key, PartitionKey::plain);
  EXPECT_EQ(s.client_address.ipv6_prefix, 56U);
  EXPECT_THAT(s.fields, testing::ElementsAre(field::Form::x_ratelimit, field::Form::ratelimit,
                                             field::Form::draft_03));
  EXPECT_EQ(s.partition_key, PartitionKey::opaque);
  EXPECT_EQ(s.jitter_percent, 10U);
  EXPECT_EQ(s.report, Report::closest);
  EXPECT_EQ(s.report_when, ReportWhen::below);
  EXPECT_EQ(s.report_below_percent, 20U);
  EXPECT_FALSE(s.problem_details);
  EXPECT_TRUE(s.expose_headers);
  EXPECT_FALSE(s.count_preflights);
  EXPECT_EQ(s.upstream_prefix, "edge-");
  EXPECT_EQ(s.table.memory, 65536U);
  EXPECT_EQ(s.table.file, "/var/lib/headgate/table");

  const Policy& p = only(set);
  EXPECT_EQ(p.name, "burst");
  EXPECT_EQ(p.unit, "requests");
  EXPECT_EQ(p.mode, Mode::enforce);
  EXPECT_EQ(p.status, 429U);
  EXPECT_EQ(p.refund_on.count(), 101U);
  EXPECT_TRUE(p.refund_on[304] && p.refund_on[500] && p.refund_on[599]);
  ASSERT_EQ(p.grants.size(), 3U);
  EXPECT_TRUE((p.grants[0].quota == limit::Quota{100, 60 * nanos_per_second}));
  EXPECT_TRUE((p.grants[1].quota == limit::Quota{200, 60 * nanos_per_second}));
  EXPECT_TRUE(p.grants[2].unlimited);
  EXPECT_FALSE(p.grants[0].unlimited || p.grants[1].unlimited);
}

TEST(Load, WindowsThatFollowACalendar) {
  const auto set = load(R"(version: 1
store: {redis: {nodes: [a:1]}}
policies:
  - name: monthly
    rate: 5000/month
    time-zone: Europe/Berlin
    overrides:
      - {ids: [10.0.0.1], quota: 9000}
      - {ids: [10.0.0.2], rate: 7000 per month}
      - {ids: [10.0.0.3], quota: unlimited}
  - {name: daily, rate: 100/day, time-zone: UTC, algorithm: fixed-window, denied: spend}
)");
  const Policy& monthly = set->policies()[0];
  EXPECT_EQ(monthly.terms.algorithm, limit::Algorithm::fixed_window);
  EXPECT_TRUE(monthly.terms.aligned);
  ASSERT_NE(monthly.terms.calendar, nullptr);
  EXPECT_EQ(monthly.terms.calendar->place(), "Europe/Berlin");
  EXPECT_EQ(monthly.terms.calendar->unit(), limit::CalendarUnit::month);
  constexpr Nanos longest = 31 * 86'400 * nanos_per_second;
  EXPECT_TRUE((monthly.grants[0].quota == limit::Quota{5000, longest}));
  EXPECT_TRUE((monthly.grants[1].quota == limit::Quota{9000, longest}));
  EXPECT_TRUE((monthly.grants[2].quota == limit::Quota{7000, longest}));
  EXPECT_TRUE(monthly.grants[3].unlimited);
  for (const std::size_t grant : {0U, 1U, 2U}) {
    const auto* law = std::get_if<limit::FixedWindow>(&monthly.grants[grant].law);
    ASSERT_NE(law, nullptr);
    EXPECT_EQ(law->calendar(), monthly.terms.calendar);
  }
  // Exactly alone: what is taken ahead would be of a window of a fixed length.
  EXPECT_EQ(monthly.sharing, limit::Sharing::exact);
  EXPECT_EQ(monthly.grants[0].shared->leased, 0U);
  EXPECT_EQ(set->policies()[1].terms.calendar->unit(), limit::CalendarUnit::day);
  EXPECT_NE(set->policies()[1].terms.calendar, monthly.terms.calendar);

  const auto changed = set->with(0, {.window = 3600 * nanos_per_second}).value();
  EXPECT_EQ(changed->policies()[0].terms.calendar, nullptr);
  const auto linear = set->with(0, {.algorithm = limit::Algorithm::linear}).value();
  EXPECT_EQ(linear->policies()[0].terms.calendar, nullptr);
  const auto more = set->with(0, {.quota = 9}).value();
  EXPECT_EQ(more->policies()[0].terms.calendar, monthly.terms.calendar);
}

TEST(Load, Defaults) {
  const auto set = load("version: 1\npolicies: [{name: p, quota: 1, window: 1}]\n");
  const Settings& s = set->settings();
  EXPECT_TRUE(s.client_address.trusted_proxies.empty());
  EXPECT_FALSE(s.client_address.trust_unix);
  EXPECT_EQ(s.client_address.ipv6_prefix, 64U);
  EXPECT_THAT(s.fields, testing::ElementsAre(field::Form::ratelimit));
  EXPECT_EQ(s.partition_key, PartitionKey::omit);
  EXPECT_EQ(s.jitter_percent, 0U);
  EXPECT_EQ(s.report, Report::few);
  EXPECT_EQ(s.report_when, ReportWhen::always);
  EXPECT_TRUE(s.problem_details);
  EXPECT_FALSE(s.expose_headers);
  EXPECT_TRUE(s.count_preflights);
  EXPECT_EQ(s.upstream_prefix, "gateway-");
  EXPECT_EQ(s.table.memory, std::size_t{64} << 20);
  EXPECT_TRUE(s.table.file.empty());
  const Policy& p = only(set);
  EXPECT_EQ(p.unit, "requests");
  EXPECT_EQ(p.mode, Mode::enforce);
  EXPECT_EQ(p.status, 429U);
  EXPECT_TRUE(p.refund_on.none());
  EXPECT_EQ(p.grants.size(), 1U);
}

TEST(Load, RedisWithEveryKey) {
  const auto set = load(R"(version: 1
store:
  table: {memory: 1MiB}
  redis: {nodes: ["redis-1:6379", "[::1]:6380"], cluster: true, user: headgate,
          password-file: /etc/headgate/redis, timeout: 20ms, prefix: "limits:",
          tls: {ca: ca.pem, cert: c.pem, key: k.pem, server-name: redis.example}}
policies:
  - {name: shared, burst: 20, count: 40, period: 1s, on-outage: {local: 25%},
     overrides: [{ids: [10.0.0.1], quota: unlimited}, {ids: [10.0.0.2], rate: 3/s}]}
  - {name: alone, quota: 1, window: 1s, sharing: none}
  - {name: login, quota: 5, window: 1m, sharing: exact, on-outage: deny}
)");
  const Settings& s = set->settings();
  EXPECT_EQ(s.table.memory, std::size_t{1} << 20);
  ASSERT_TRUE(s.redis);
  EXPECT_EQ(*s.redis, (RedisSettings{{{"redis-1", "6379"}, {"::1", "6380"}},
                                     true,
                                     "",
                                     "headgate",
                                     "/etc/headgate/redis",
                                     RedisTls{"ca.pem", "c.pem", "k.pem", "redis.example"},
                                     20'000'000,
                                     "limits:"}));
  const auto policies = set->policies();
  EXPECT_EQ(policies[0].sharing, limit::Sharing::exact);
  EXPECT_EQ(policies[0].outage_percent, 25U);
  const auto& grants = policies[0].grants;
  EXPECT_EQ(grants[0].shared->on_outage, limit::OnOutage::local);
  const auto& alone = std::get<limit::LinearWhole>(grants[0].shared->outage_law);
  EXPECT_EQ(alone.quota(), 5U);
  EXPECT_EQ(alone.interval(), nanos_per_second / 10);
  EXPECT_EQ(grants[1].shared, nullptr) << "unlimited";
  EXPECT_NE(grants[2].shared, nullptr);
  EXPECT_EQ(policies[1].sharing, limit::Sharing::none);
  EXPECT_EQ(policies[1].grants[0].shared, nullptr);
  EXPECT_EQ(policies[2].on_outage, limit::OnOutage::deny);
  EXPECT_EQ(policies[2].grants[0].shared->on_outage, limit::OnOutage::deny);
}

TEST(Load, WithoutRedisNothingIsShared) {
  const auto set = load("version: 1\npolicies: [{name: p, quota: 1, window: 1, sharing: none}]\n");
  EXPECT_FALSE(set->settings().redis);
  EXPECT_EQ(only(set).grants[0].shared, nullptr);
}

TEST(Load, RedisWithDefaults) {
  const auto set = load(
      "version: 1\nstore: {redis: {nodes: \"unix:/run/redis\"}}\n"
      "policies: [{name: p, quota: 1, window: 1}]\n");
  RedisSettings defaults;
  defaults.nodes = {{"", "/run/redis"}};
  EXPECT_EQ(*set->settings().redis, defaults);
  EXPECT_EQ(only(set).on_outage, limit::OnOutage::local);
  EXPECT_EQ(only(set).outage_percent, 100U);
  EXPECT_EQ(only(set).grants[0].shared->outage_law.index(), only(set).grants[0].law.index());
}

TEST(Load, AResetMayBeAUnixTime) {
  const auto reset_of = [](const std::string& fields) {
    return load("version: 1\nfields: " + fields + "\npolicies: []\n")->settings();
  };
  const Settings both = reset_of("[ratelimit, x-ratelimit-unix]");
  EXPECT_THAT(both.fields, testing::ElementsAre(field::Form::ratelimit, field::Form::x_ratelimit));
  EXPECT_TRUE(both.unix_reset);
  EXPECT_FALSE(reset_of("[ratelimit, x-ratelimit]").unix_reset);
}

TEST(Load, QuotaAndWindowInEverySpelling) {
  struct Case {
    const char* spelling;
    std::uint64_t units;
    Nanos window;
  };
  constexpr Nanos second = nanos_per_second;
  const Case cases[] = {
      {"quota: 100, window: 1m", 100, 60 * second},
      {"quota: '100', window: '60'", 100, 60 * second},
      {"quota: 5, window: 250ms", 5, 250'000'000},
      {"quota: 0, window: 1w", 0, 604'800 * second},
      {"quota: 999999999999999, window: 1ns", 999'999'999'999'999, 1},
      {"quota: 1, window: 999999999999999000000000ns", 1, limit::Quota::window_max},
      {"rate: 100/minute", 100, 60 * second},
      {"rate: 10 per 2 hours", 10, 7200 * second},
      {"burst: 20, count: 40, period: 1s", 20, second / 2},
      {"burst: 300, count: 300, period: 3h", 300, 10'800 * second},
      {"burst: 10, count: 3, period: 1s", 10, 3'333'333'334}};
  for (const Case& c : cases) {
    const auto set = load("version: 1\npolicies: [{name: p, " + std::string(c.spelling) + "}]\n");
    EXPECT_EQ(only(set).grants[0].quota.units, c.units) << c.spelling;
    EXPECT_TRUE(only(set).grants[0].quota.window == c.window) << c.spelling;
  }
}

TEST(Load, AQuotaOfZeroIsTheClosedLaw) {
  const auto set = load("version: 1\npolicies: [{name: p, quota: 0, window: 1s}]\n");
  EXPECT_TRUE(std::holds_alternative<limit::Closed>(only(set).grants[0].law));
}

TEST(Load, OverridesInheritWhatTheyDoNotGive) {
  const auto set = load(R"(version: 1
policies:
  - name: p
    rate: 100/minute
    denied: {penalty: 30s}
    overrides:
      - {ids: [10.0.0.1], quota: 7}
      - {ids: [10.0.0.2], window: 2m}
      - {ids: [10.0.0.3], rate: 5/s}
      - {ids: [10.0.0.4], burst: 20, count: 40, period: 1s}
)");
  const auto& grants = only(set).grants;
  constexpr Nanos second = nanos_per_second;
  ASSERT_EQ(grants.size(), 5U);
  EXPECT_TRUE((grants[1].quota == limit::Quota{7, 60 * second}));
  EXPECT_TRUE((grants[2].quota == limit::Quota{100, 120 * second}));
  EXPECT_TRUE((grants[3].quota == limit::Quota{5, second}));
  EXPECT_TRUE((grants[4].quota == limit::Quota{20, second / 2, 40, second}));
}

TEST(Load, EverySpellingOfTheRest) {
  for (const char* keys : {"algorithm: linear",
                           "algorithm: gcra",
                           "algorithm: token-bucket",
                           "algorithm: leaky-bucket",
                           "key: address",
                           "key: []",
                           "key: [address/24]",
                           "key: [\"header:X-A\", \"cookie:s\", host]",
                           "key: [query:q, path, method, \"registered-domain:header:host\"]",
                           "unit: content-bytes",
                           "unit: credits per month",
                           "cost: 0",
                           "cost: request-bytes",
                           "cost: {request-header: X-Cost}",
                           "denied: spend",
                           "denied: {penalty: 30s}",
                           "reset: next",
                           "reset: full",
                           "refund-on: 5xx",
                           "refund-on: 304",
                           "refund-on: []",
                           "mode: shadow",
                           "mode: off",
                           "status: 503",
                           "overrides: []",
                           "match: [{method: GET}]",
                           "match: [{host: \"*\"}]",
                           "name: p"}) {
    const std::string name = std::string(keys) == "name: p" ? "" : "name: p, ";
    const auto set =
        load("version: 1\npolicies: [{" + name + "quota: 1, window: 1, " + keys + "}]\n");
    EXPECT_EQ(only(set).name, "p") << keys;
  }
  for (const char* settings :
       {"fields: []", "fields: none", "fields: [none]", "fields: ratelimit",
        "fields: [draft-07, draft-03]", "fields: [x-ratelimit, draft-06]", "store: table",
        "store: {}", "store: {table: {}}", "client-address: {}", "report-when: denied",
        "report-when: below 0%", "problem-details: true", "cors: {expose-headers: true}",
        "cors: {preflights: counted}", "partition-key: plain", "retry-after-jitter: 50%"}) {
    load("version: 1\n" + std::string(settings) + "\npolicies: []\n");
  }
  EXPECT_TRUE(load("version: 1\nfields: none\npolicies: []\n")->settings().fields.empty());
  EXPECT_TRUE(load("version: 1\nfields: []\npolicies: []\n")->settings().fields.empty());
}

TEST(Load, EveryYamlSyntax) {
  const auto set = load(
      "\xef\xbb\xbf# comment\r\n---\r\n\"version\": '1'\r\npolicies:\r\n- &p {name: \"p\", quota: "
      "1, "
      "window: 1, match: &m [{path: /}]}\r\n- name: >-\r\n    q\r\n  quota: 2\r\n  window: 1\r\n  "
      "match: "
      "*m\r\n...\r\n");
  ASSERT_EQ(set->policies().size(), 2U);
  EXPECT_EQ(set->policies()[1].name, "q");
  EXPECT_EQ(set->policies()[1].index, 1U);
}

TEST(Load, MergeKeysAndKeysForPeople) {
  const auto set = load(R"(version: 1
x-plans:
  - &slow {rate: 10/minute, key: "header:x-api-key"}
  - &fast {rate: 600/minute, status: 503}
policies:
  - {name: a, <<: *slow, x-owner: [team, a]}
  - {<<: [*fast, *slow], name: b}
  - {name: c, <<: *slow, rate: 5/s}
)");
  ASSERT_EQ(set->policies().size(), 3U);
  const auto units = [&](std::size_t i) { return set->policies()[i].grants[0].quota.units; };
  EXPECT_EQ(units(0), 10U);
  EXPECT_EQ(units(1), 600U);
  EXPECT_EQ(set->policies()[1].status, 503U);
  EXPECT_EQ(set->policies()[1].key_text, "header:x-api-key");
  EXPECT_EQ(units(2), 5U);
}

// Columns are counted from value to value: from the begin of the line it would take minutes.
TEST(Load, ALongLineOfManyValuesBeyondAscii) {
  std::string yaml = "version: 1\npolicies: []\nx-names: [";
  for (int i = 0; i < 300'000; ++i) yaml += "\xc3\xa9,";
  EXPECT_TRUE(load_text(yaml + "]\n", "f"));
  const Loaded loaded = load_text(yaml + "*a]\n", "f");
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().front().column, 11U + 3U * 300'000U);
}

TEST(Load, AHundredThousandOverrides) {
  std::string yaml = "version: 1\npolicies:\n  - name: p\n    rate: 1/s\n    overrides:\n";
  for (int i = 0; i < 100'000; ++i) {
    yaml += "      - {ids: [10." + std::to_string(i >> 16) + "." + std::to_string(i >> 8 & 255) +
            "." + std::to_string(i & 255) + "], quota: " + std::to_string(i) + "}\n";
  }
  const auto set = load(yaml);
  ASSERT_EQ(only(set).grants.size(), 100'001U);
  std::string text;
  EXPECT_EQ(set->named("p", "10.1.2.3", 1, text)->grant->quota.units, 65536U + 512U + 3U);
}

}  // namespace
}  // namespace headgate::policy
