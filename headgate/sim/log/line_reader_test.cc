// Single lines. fuzz/fuzz_access_log.cc tests arbitrary bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headgate/sim/log/clf_reader.h"
#include "headgate/sim/log/envoy_reader.h"
#include "headgate/sim/log/format.h"
#include "headgate/sim/log/haproxy_reader.h"
#include "headgate/sim/log/json_reader.h"

namespace headgate::sim {
namespace {

using ::testing::HasSubstr;

const std::vector<WantedHeader> wanted{{"referer", false}, {"user-agent", false}, {"x-cost", true}};

constexpr std::int64_t second = 1'000'000'000;

class ClfReaderTest : public ::testing::Test {
 protected:
  std::string read(std::string_view line) {
    line_ = line;
    return std::string(reader_.read(line_, entry_));
  }
  // A good line at this time.
  std::int64_t seconds_at(const std::string& time) {
    EXPECT_EQ(read("192.0.2.7 - - [" + time + "] \"GET / HTTP/1.1\" 200 5 \"-\" \"-\""), "");
    return entry_.at / second;
  }

  ClfReader reader_{ClfForm::combined, wanted};
  std::string line_;
  LogEntry entry_;
};

TEST_F(ClfReaderTest, ReadsAllPartsOfALine) {
  ASSERT_EQ(
      read(R"(2001:db8::7 - alice [17/May/2015:10:05:03 +0000] "GET /a?b=\"c\" HTTP/1.1" 404 )"
           R"(2326 "http://from/" "A \x22b\x22 \\" more)"),
      "");
  EXPECT_EQ(entry_.at, 1431857103 * second);
  EXPECT_EQ(entry_.peer, policy::Address::parse("2001:db8::7"));
  EXPECT_EQ(entry_.method, "GET");
  EXPECT_EQ(entry_.target, "/a?b=\"c\"");
  EXPECT_EQ(entry_.status, 404u);
  EXPECT_EQ(entry_.response_bytes, 2326u);
  EXPECT_EQ(entry_.headers[0], "http://from/");
  EXPECT_EQ(entry_.headers[1], R"(A "b" \)");
  EXPECT_EQ(entry_.headers[2], std::nullopt);
  EXPECT_EQ(entry_.took, 0);
}

// If the time grew with the square of the length, these lines would take many minutes.
TEST_F(ClfReaderTest, LongLinesOfBracketsTakeLinearTime) {
  const std::string brackets(1 << 20, '[');
  EXPECT_THAT(read(brackets), HasSubstr("there is no time"));
  EXPECT_THAT(read(brackets + '"'), HasSubstr("there is no time"));
  const std::string good = "[17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200 5 \"-\" \"-\"";
  EXPECT_EQ(read("192.0.2.7 - [[[[" + good), "");
  EXPECT_EQ(entry_.at, 1431857103 * second);
  EXPECT_THAT(read("[ \"" + good), HasSubstr("there is no time"));
}

TEST_F(ClfReaderTest, TimesUseTheOffsetOfTheLine) {
  // Clocks go from 02:00 +0100 to 03:00 +0200, and in autumn back.
  EXPECT_EQ(seconds_at("29/Mar/2026:03:00:00 +0200") - seconds_at("29/Mar/2026:01:59:59 +0100"), 1);
  EXPECT_EQ(seconds_at("25/Oct/2026:02:00:00 +0100") - seconds_at("25/Oct/2026:02:59:59 +0200"), 1);
  EXPECT_EQ(seconds_at("01/Jan/2026:00:30:00 +0545"), seconds_at("31/Dec/2025:18:45:00 +0000"));
  EXPECT_EQ(seconds_at("01/Jan/2026:00:30:00 -0930"), seconds_at("01/Jan/2026:10:00:00 +0000"));
  EXPECT_EQ(seconds_at("29/Feb/2024:23:59:60 +0000"), seconds_at("01/Mar/2024:00:00:00 +0000"));
}

TEST_F(ClfReaderTest, OtherTextsBeforeTheTime) {
  EXPECT_EQ(
      read("www.example:443 192.0.2.7 - - [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200 "
           "- \"-\" \"-\""),
      "");
  EXPECT_EQ(entry_.host, "www.example");
  EXPECT_EQ(entry_.response_bytes, 0u);
  EXPECT_EQ(read("192.0.2.7 - a [b] c [17/May/2015:10:05:03 +0000] \"GET /\" 200 1 \"-\" \"-\""),
            "");
  EXPECT_EQ(entry_.target, "/");
  EXPECT_EQ(read("unix: - - [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200 1 \"-\" \"-\""),
            "");
  EXPECT_EQ(entry_.peer, std::nullopt);
}

TEST_F(ClfReaderTest, ErrorsSayWhatIsWrong) {
  const std::string front = "192.0.2.7 - - [17/May/2015:10:05:03 +0000] ";
  const struct {
    std::string line;
    const char* wrong;
  } cases[] = {
      {"", "there is no time"},
      {"host.example - - [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200 1 \"-\" \"-\"",
       "no IP address"},
      {"192.0.2.7 - - [31/Jun/2015:10:05:03 +0000] \"GET /\" 200 1 \"-\" \"-\"",
       "there is no time"},
      {"192.0.2.7 - - [17/May/1969:10:05:03 +0000] \"GET /\" 200 1 \"-\" \"-\"",
       "there is no time"},
      {"192.0.2.7 - - [17/May/2300:10:05:03 +0000] \"GET /\" 200 1 \"-\" \"-\"",
       "there is no time"},
      {front + "\"-\" 408 0 \"-\" \"-\"", "there is no request"},
      {front + "\"GET / HTTP/1.1 200 0 - -", "there is no request"},
      {front + "\"GET / HTTP/1.1\" 20 0 \"-\" \"-\"", "there is no status"},
      {front + "\"GET / HTTP/1.1\" 200 x \"-\" \"-\"", "there is no number of bytes"},
      {front + "\"GET / HTTP/1.1\" 200 5", "there is no Referer"},
      {front + "\"GET / HTTP/1.1\" 200 5 \"-\" \"Mozilla", "there is no User-Agent"},
  };
  for (const auto& c : cases) EXPECT_THAT(read(c.line), HasSubstr(c.wrong)) << c.line;
}

class JsonReaderTest : public ::testing::Test {
 protected:
  std::string read(std::string_view line) {
    line_ = line;
    return std::string(reader_.read(line_, entry_));
  }

  JsonReader reader_{FieldNames(), wanted};
  std::string line_;
  LogEntry entry_;
};

TEST_F(JsonReaderTest, ReadsAllPartsOfALine) {
  ASSERT_EQ(
      read(
          R"( {"msec": "1431857103.250", "remote_addr": "192.0.2.7", "x": {"status": [1, "}"]},)"
          R"("request_method":"PUT","request_uri":"\/a","args":"b=1","status":"201",)"
          R"("body_bytes_sent":7,"content_length":"12","http_host":"h:80","nothing":null,)"
          R"("http_user_agent":"\u00e4\ud83d\ude00\n","http_referer":"-","sent_http_x_cost":"5"} )"),
      "");
  EXPECT_EQ(entry_.at, 1431857103 * second + second / 4);
  EXPECT_EQ(entry_.peer, policy::Address::parse("192.0.2.7"));
  EXPECT_EQ(entry_.method, "PUT");
  EXPECT_EQ(entry_.target, "/a");
  EXPECT_EQ(entry_.query, "b=1");
  EXPECT_EQ(entry_.host, "h");
  EXPECT_EQ(entry_.status, 201u);
  EXPECT_EQ(entry_.response_bytes, 7u);
  EXPECT_EQ(entry_.request_bytes, 12u);
  EXPECT_EQ(entry_.headers[0], std::nullopt);
  EXPECT_EQ(entry_.headers[1], "\xc3\xa4\xf0\x9f\x98\x80\n");
  EXPECT_EQ(entry_.headers[2], "5");
}

// As nginx writes it, with escape=json and without.
TEST_F(JsonReaderTest, ARequestWithoutContentLengthHasNoBody) {
  const std::string rest =
      R"("msec": "1431857103.250", "remote_addr": "::1", "request": "GET / HTTP/1.1")";
  for (const char* none : {R"("")", R"("-")", "0"}) {
    ASSERT_EQ(read("{\"content_length\": " + std::string(none) + ", " + rest + '}'), "") << none;
    EXPECT_EQ(entry_.request_bytes, 0u) << none;
  }
  ASSERT_EQ(read('{' + rest + '}'), "");
  EXPECT_EQ(entry_.request_bytes, std::nullopt);
}

TEST_F(JsonReaderTest, TimesInEveryForm) {
  const char* const same[] = {"\"2015-05-17T10:05:03Z\"",
                              "\"2015-05-17 12:05:03.000+02:00\"",
                              "\"17/May/2015:10:05:03 +0000\"",
                              "1431857103",
                              "1431857103000",
                              "1431857103000000",
                              "1431857103000.000",
                              "\"1431857103000000000\""};
  for (const char* const time : same) {
    ASSERT_EQ(read(std::string(R"({"time":)") + time + R"(,"ip":"::1","path":"/"})"), "") << time;
    EXPECT_EQ(entry_.at, 1431857103 * second) << time;
  }
  // Milliseconds with a fraction are Caddy's unix_milli_float.
  for (const char* const time :
       {"1431857103.2501239999", "1431857103250.1239999", "1431857103250123.9999"}) {
    ASSERT_EQ(read(std::string(R"({"ts":)") + time + R"(,"ip":"::1","path":"/"})"), "") << time;
    EXPECT_EQ(entry_.at, 1431857103'250123999) << time;
  }
  for (const char* const time : {"\"yesterday\"", "-5", "99999999999", "\"2015-05-17T10:05:03\"",
                                 "1e9", "1431857103250.1.2"}) {
    EXPECT_THAT(read(std::string(R"({"time":)") + time + R"(,"ip":"::1","path":"/"})"),
                HasSubstr("no time"))
        << time;
  }
}

TEST_F(JsonReaderTest, RefusesWhatIsNotAnObject) {
  for (const char* const line :
       {"", "[]", "{", R"({"a":1)", R"({"a":1}})", R"({"a":1,})", R"({a:1})", R"({"a":tru})",
        R"({"a":"\q"})", R"({"a":"\u12"})", R"({"a":[1})", "{}x"}) {
    EXPECT_THAT(read(line), HasSubstr("one JSON object")) << line;
  }
}

TEST(DetectTest, TheFirstReadableLineDecides) {
  const FieldNames names;
  const std::string common = "192.0.2.7 - - [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200 5";
  EXPECT_EQ(detect("rubbish\n" + common + "\n", names), LogFormat::common);
  EXPECT_EQ(detect(common + " \"-\" \"-\"\r\n" + common, names), LogFormat::combined);
  EXPECT_EQ(detect("{\"t\":1,\"policy\":\"a\",\"key\":\"b\"}\n", names), LogFormat::trace);
  EXPECT_EQ(detect("{\"time\":1,\"ip\":\"::1\",\"path\":\"/\"}", names), LogFormat::json);
  EXPECT_EQ(detect("{\"broken", names), LogFormat::json);
  EXPECT_EQ(detect("", names), LogFormat::combined);
}

// As Caddy 2 writes it, shortened.
constexpr const char* caddy_line =
    R"({"level":"info","ts":1646861401.5241024,"logger":"http.log.access.log0","msg":"handled request",)"
    R"("request":{"remote_ip":"192.0.2.7","remote_port":"41342","client_ip":"198.51.100.9",)"
    R"("proto":"HTTP/2.0","method":"POST","host":"api.example:8443","uri":"/a?b",)"
    R"("headers":{"User-Agent":["curl/7.82.0"],"Accept":["*/*","a"],"Referer":["x","y"]},)"
    R"("tls":{"resumed":false,"version":772}},"bytes_read":17,"user_id":"","duration":0.000929675,)"
    R"("size":10900,"status":200,"resp_headers":{"Server":["Caddy"],"X-Cost":["5"]}})";

TEST_F(JsonReaderTest, ReadsMembersOfObjects) {
  ASSERT_EQ(read(caddy_line), "");
  EXPECT_EQ(entry_.at, 1646861401'524102400);
  EXPECT_EQ(entry_.peer, policy::Address::parse("198.51.100.9"));
  EXPECT_EQ(entry_.method, "POST");
  EXPECT_EQ(entry_.target, "/a?b");
  EXPECT_EQ(entry_.host, "api.example");
  EXPECT_EQ(entry_.status, 200u);
  EXPECT_EQ(entry_.response_bytes, 10900u);
  EXPECT_EQ(entry_.request_bytes, 17u);
  EXPECT_EQ(entry_.headers[0], "x, y") << "the lines of one header";
  EXPECT_EQ(entry_.headers[1], "curl/7.82.0");
  EXPECT_EQ(entry_.headers[2], "5");
}

// Caddy hides credentials, and Traefik what it is told to hide. All clients would be one.
TEST_F(JsonReaderTest, HiddenHeadersAreAbsent) {
  std::string line = caddy_line;
  const std::string_view shown = "[\"x\",\"y\"]";
  line.replace(line.find(shown), shown.size(), "[\"REDACTED\"]");
  ASSERT_EQ(read(line), "");
  EXPECT_EQ(entry_.headers[0], std::nullopt);
  EXPECT_EQ(entry_.headers[1], "curl/7.82.0");
}

TEST_F(JsonReaderTest, MembersOfObjectsCanBeNamed) {
  FieldNames names;
  ASSERT_TRUE(names.set("address=request.remote_ip"));
  ASSERT_TRUE(names.set("header:user-agent=request.headers.accept"));
  JsonReader reader(names, wanted);
  ASSERT_EQ(reader.read(caddy_line, entry_), "");
  EXPECT_EQ(entry_.peer, policy::Address::parse("192.0.2.7"));
  EXPECT_EQ(entry_.headers[1], "*/*, a");
}

// A look-up of the whole name for each member would take half a minute.
TEST_F(JsonReaderTest, MembersOfAnObjectWithALongNameTakeLinearTime) {
  std::string line = R"({"time":1,"ip":"::1","path":"/","})" + std::string(1 << 19, 'n') + "\":{";
  for (int i = 0; i < 100'000; ++i) line += R"("":0,)";
  EXPECT_EQ(read(line + R"("a":0}})"), "");
}

TEST_F(JsonReaderTest, DeepObjectsArePassedOver) {
  const std::string deep = std::string(R"("x":)") + std::string(5000, '[') + std::string(5000, ']');
  std::string objects = "1";
  for (int i = 0; i < 5000; ++i) objects = R"({"remote_addr":)" + objects + "}";
  EXPECT_EQ(read(R"({"time":1,"remote_addr":"192.0.2.7","request":"GET /",)" + deep + "}"), "");
  EXPECT_EQ(read(R"({"time":1,"remote_addr":"192.0.2.7","request":"GET /","y":)" + objects + "}"),
            "");
  EXPECT_EQ(entry_.peer, policy::Address::parse("192.0.2.7"));
  EXPECT_NE(read(R"({"time":1,"request":{"method":"GET")"), "");
}

// From Envoy's documentation of access logs, with a client.
constexpr const char* envoy_line =
    R"([2016-04-15T20:17:00.310Z] "POST /api/v1/locations?a HTTP/2" 204 - 154 7 226 100 )"
    R"("10.0.35.28, 192.0.2.7" "nsq2http" "cc21d9b0-cf5c-432b-8c7e-98aeb7988cd2" "locations:80" )"
    R"("tcp://10.0.2.1:80")";

TEST(EnvoyReader, ReadsItsDefaultFormat) {
  EnvoyReader reader(wanted);
  LogEntry entry;
  ASSERT_EQ(reader.read(envoy_line, entry), "");
  EXPECT_EQ(entry.at, 1460751420'310000000 + 226'000'000) << "when the request had ended";
  EXPECT_EQ(entry.took, 226'000'000);
  EXPECT_EQ(entry.peer, policy::Address::parse("192.0.2.7"));
  EXPECT_EQ(entry.method, "POST");
  EXPECT_EQ(entry.target, "/api/v1/locations?a");
  EXPECT_EQ(entry.status, 204u);
  EXPECT_EQ(entry.request_bytes, 154u);
  EXPECT_EQ(entry.response_bytes, 7u);
  EXPECT_EQ(entry.host, "locations");
  EXPECT_EQ(entry.headers[1], "nsq2http");
}

TEST(EnvoyReader, ErrorsSayWhatIsWrong) {
  EnvoyReader reader(wanted);
  LogEntry entry;
  const std::string front = "[2016-04-15T20:17:00.310Z] \"GET / HTTP/1.1\" ";
  const std::pair<std::string, const char*> cases[] = {
      {"", "there is no time"},
      {"[yesterday] \"GET / HTTP/1.1\"", "there is no time"},
      {"[2016-04-15T20:17:00.310Z] \"- - HTTP/1.1\" 400 DPE 0 11 0 - \"-\" \"-\" \"-\" \"-\" \"-\"",
       "there is no request"},
      {front + "200 - 1 2 x 3", "expected status"},
      {front + "200 - 1 2 3 - \"192.0.2.7\" \"-\"", "X-Request-Id"},
      {front + "200 - 1 2 3 - \"-\" \"-\" \"-\" \"-\" \"-\"", "use_remote_address"},
  };
  for (const auto& [line, wrong] : cases) EXPECT_THAT(reader.read(line, entry), HasSubstr(wrong));
}

// From HAProxy's documentation of `option httplog`.
constexpr const char* haproxy_line =
    R"(Feb  6 12:14:14 localhost haproxy[14389]: 10.0.1.2:33317 [06/Feb/2009:12:14:14.655] http-in )"
    R"(static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 {1wt.eu} {} "GET /index.html HTTP/1.1")";

TEST(HaproxyReader, ReadsItsFormat) {
  HaproxyReader reader;
  LogEntry entry;
  ASSERT_EQ(reader.read(haproxy_line, entry), "");
  EXPECT_EQ(entry.at, 1233922454'655000000 + 109'000'000);
  EXPECT_EQ(entry.took, 109'000'000);
  EXPECT_EQ(entry.peer, policy::Address::parse("10.0.1.2"));
  EXPECT_EQ(entry.method, "GET");
  EXPECT_EQ(entry.target, "/index.html");
  EXPECT_EQ(entry.status, 200u);
  EXPECT_EQ(entry.response_bytes, 2750u);
  ASSERT_EQ(reader.read("2001:db8::7:443 [06/Feb/2009:12:14:14.655] a~ b/<NOSRV> -1/-1/-1/-1/+7 -1 "
                        "+0 - - CR-- 1/1/0/0/0 0/0 \"GET / HTTP/1.1\"",
                        entry),
            "");
  EXPECT_EQ(entry.peer, policy::Address::parse("2001:db8::7"));
  EXPECT_EQ(entry.status, 0u);
}

// As `log stdout format short` and `format priority` write it, with a request that has escapes.
TEST(HaproxyReader, ReadsPrioritiesAndEscapes) {
  HaproxyReader reader;
  LogEntry entry;
  for (const char* const priority : {"<6>", "<134>", "<134>Feb  6 12:14:14 haproxy[14389]: "}) {
    ASSERT_EQ(
        reader.read(std::string(priority) +
                        "192.0.2.7:443 [06/Feb/2009:12:14:14.655] a b/c 0/0/0/0/7 200 9 - - ---- "
                        "1/1/0/0/0 0/0 {#22#7D} \"GET /a#22b#23c?d=#C3#a4#2 HTTP/1.1\"",
                    entry),
        "")
        << priority;
    EXPECT_EQ(entry.peer, policy::Address::parse("192.0.2.7"));
    EXPECT_EQ(entry.target, "/a\"b#c?d=\xc3\xa4#2");
  }
}

TEST(HaproxyReader, ErrorsSayWhatIsWrong) {
  HaproxyReader reader;
  LogEntry entry;
  const std::string front = "192.0.2.7:1 [06/Feb/2009:12:14:14.655] a b/c ";
  const std::pair<std::string, const char*> cases[] = {
      {"haproxy[14389]: Proxy http-in started.", "there is no time"},
      {"host:1 [06/Feb/2009:12:14:14.655] a b/c 1/2/3/4/5 200 1", "there is no client"},
      {front + "200 1", "there are no times"},
      {front + "1/2/3/4/5 x 1", "there is no status"},
      {front + "1/2/3/4/5 200 -", "there is no number of bytes"},
      {front + "1/2/3/4/5 400 187 - - PR-- 1/1/0/0/0 0/0 \"<BADREQ>\"", "there is no request"},
  };
  for (const auto& [line, wrong] : cases) EXPECT_THAT(reader.read(line, entry), HasSubstr(wrong));
}

TEST(DetectTest, KnowsTheFormatsOfProxies) {
  const FieldNames names;
  EXPECT_EQ(detect(caddy_line, names), LogFormat::json);
  EXPECT_EQ(detect(envoy_line, names), LogFormat::envoy);
  EXPECT_EQ(detect(haproxy_line, names), LogFormat::haproxy);
}

}  // namespace
}  // namespace headgate::sim
