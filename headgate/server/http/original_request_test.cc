#include "headgate/server/http/original_request.h"

#include <gmock/gmock.h>
#include <rapidcheck.h>

#include <string>
#include <utility>
#include <vector>

#include "headgate/policy/address/client_address.h"

namespace headgate::server {
namespace {

using policy::Address;
using ::testing::HasSubstr;

class Fields final : public policy::Headers {
 public:
  Fields(std::initializer_list<std::pair<std::string, std::string>> fields) : fields_(fields) {}
  [[nodiscard]] std::optional<std::string_view> line(std::string_view name,
                                                     std::size_t nth) const noexcept override {
    for (const auto& [n, value] : fields_) {
      if (n == name && nth-- == 0) return value;
    }
    return std::nullopt;
  }
  void add(std::string name, std::string value) {
    fields_.emplace_back(std::move(name), std::move(value));
  }

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

policy::ClientAddress trusting(std::initializer_list<const char*> blocks) {
  policy::ClientAddress settings;
  for (const char* block : blocks) {
    settings.trusted_proxies.push_back(*policy::AddressBlock::parse(block));
  }
  return settings;
}

// Reads an auth request that 127.0.0.1 sends.
struct Reading {
  explicit Reading(const Fields& fields, policy::ClientAddress its_settings = {})
      : settings(std::move(its_settings)),
        original(OriginalRequest::read({fields, "GET", Address::parse("127.0.0.1")}, settings)) {}

  [[nodiscard]] policy::Request request() const { return original->request(); }
  [[nodiscard]] std::string client() const {
    const auto address = policy::client_of(request(), settings);
    if (!address) return "unix";
    char text[Address::text_max];
    return {text, address->write(text, address->bits())};
  }

  policy::ClientAddress settings;
  Result<OriginalRequest, std::string> original;
};

TEST(OriginalRequestTest, ReadsTheFieldsOfEachProxy) {
  const Fields ways[] = {
      {{"x-forwarded-method", "PUT"},
       {"x-forwarded-uri", "/a//b/../c%20d?x=%20"},
       {"x-forwarded-host", "api.example:8080"}},
      {{"x-original-method", "PUT"},
       {"x-original-uri", "/a//b/../c%20d?x=%20"},
       {"host", "api.example"}},
      {{"x-original-method", "PUT"},
       {"x-original-url", "https://api.example/a//b/../c%20d?x=%20"},
       {"host", "headgate:8081"}},
  };
  for (const Fields& fields : ways) {
    const Reading reading(fields);
    ASSERT_TRUE(reading.original);
    const policy::Request request = reading.request();
    EXPECT_EQ(request.method, "PUT");
    EXPECT_EQ(request.path, "/a//b/../c%20d");
    EXPECT_EQ(request.query, "x=%20");
    EXPECT_EQ(request.host, "api.example");
    EXPECT_EQ(request.headers->value("host", 0), "api.example");
    EXPECT_EQ(request.headers->value("host", 1), std::nullopt);
    EXPECT_EQ(reading.original->guess(), Guess::none);
  }
}

TEST(OriginalRequestTest, UsesTheAuthRequestWithoutFields) {
  const Fields fields{{"host", "[::1]:80"}};
  const Reading reading(fields);
  EXPECT_EQ(reading.request().method, "GET");
  EXPECT_EQ(reading.request().host, "[::1]");
  EXPECT_EQ(reading.request().path, "/");
  EXPECT_EQ(reading.original->guess(), Guess::no_uri);
  EXPECT_EQ(reading.client(), "127.0.0.1");
}

TEST(OriginalRequestTest, AMalformedUriIsUsedAsItIs) {
  const struct {
    const char* uri;
    const char* path;
    const char* query;
  } cases[] = {
      {"/a%zz?b", "/a%zz", "b"},
      {"/../a", "/../a", ""},
      {"/a%00", "/a%00", ""},
      {"a", "a", ""},
      {"*", "*", ""},
  };
  for (const auto& c : cases) {
    const Fields fields{{"x-forwarded-uri", c.uri}};
    const Reading reading(fields);
    EXPECT_EQ(reading.request().path, c.path);
    EXPECT_EQ(reading.request().query, c.query);
    EXPECT_EQ(reading.original->guess(), Guess::malformed);
  }
}

TEST(OriginalRequestTest, FieldsThatContradictEachOtherAreRefused) {
  const struct {
    Fields fields;
    const char* what;
  } cases[] = {
      {{{"x-forwarded-uri", "/a"}, {"x-original-uri", "/b"}}, "different URIs"},
      {{{"x-forwarded-uri", "/a"}, {"x-forwarded-uri", "/b"}}, "different URIs"},
      {{{"x-forwarded-uri", "/a"}, {"x-original-url", "http://h/b"}}, "different URIs"},
      {{{"x-forwarded-method", "GET"}, {"x-original-method", "PUT"}}, "different methods"},
      {{{"x-forwarded-host", "a"}, {"x-original-url", "http://b/"}}, "different hosts"},
  };
  for (const auto& c : cases) {
    const Reading reading(c.fields);
    ASSERT_FALSE(reading.original);
    EXPECT_THAT(reading.original.error(), HasSubstr(c.what));
  }
  const Fields agree{{"x-forwarded-uri", "/a"},
                     {"x-original-uri", "/a"},
                     {"x-original-url", "http://A.example:80/a"},
                     {"x-forwarded-host", "a.Example"}};
  EXPECT_TRUE(Reading(agree).original);
}

TEST(OriginalRequestTest, ThePeerIsTheHopThatTheProxySaw) {
  const struct {
    Fields fields;
    const char* client;
    bool is_certain = true;
  } cases[] = {
      {{{"x-forwarded-for", "192.0.2.1"}}, "192.0.2.1"},
      {{{"x-forwarded-for", "9.9.9.9, 192.0.2.1"}}, "192.0.2.1"},
      {{{"x-forwarded-for", "9.9.9.9"}, {"x-forwarded-for", "192.0.2.1:4711"}}, "192.0.2.1"},
      {{{"x-forwarded-for", "[2001:db8::1]:80"}}, "2001:db8::1"},
      {{{"x-real-ip", "192.0.2.1"}}, "192.0.2.1"},
      {{{"x-forwarded-for", "9.9.9.9, 192.0.2.1"}, {"x-real-ip", "192.0.2.1"}}, "192.0.2.1"},
      // 10.0.0.1 is trusted, and so is the address that it reports.
      {{{"x-forwarded-for", "9.9.9.9, 192.0.2.1, 10.0.0.1"}}, "192.0.2.1"},
      {{{"x-forwarded-for", "9.9.9.9, 192.0.2.1"}, {"x-forwarded-for", "10.0.0.1"}}, "192.0.2.1"},
      {{{"x-forwarded-for", "192.0.2.1, 10.0.0.1"}, {"x-real-ip", "192.0.2.1"}}, "192.0.2.1"},
      {{{"x-forwarded-for", "192.0.2.1, 10.0.0.1"}, {"x-real-ip", "10.0.0.1"}}, "192.0.2.1"},
      {{{"x-forwarded-for", "10.0.0.1"}}, "10.0.0.1"},
      {{{"x-forwarded-for", "10.0.0.1"}, {"forwarded", "for=192.0.2.1"}}, "192.0.2.1"},
      // No address, or contradicting ones: the sender is the peer.
      {{}, "127.0.0.1"},
      {{{"x-forwarded-for", "9.9.9.9, unknown"}}, "127.0.0.1", false},
      {{{"x-forwarded-for", "9.9.9.9"}, {"x-real-ip", "192.0.2.1"}}, "127.0.0.1", false},
      {{{"x-forwarded-for", "192.0.2.1, 9.9.9.9"}, {"x-real-ip", "192.0.2.1"}}, "127.0.0.1", false},
      {{{"x-forwarded-for", "9.9.9.9, 10.0.0.1"}, {"x-real-ip", "192.0.2.1"}}, "127.0.0.1", false},
  };
  for (const auto& c : cases) {
    const Reading reading(c.fields, trusting({"10.0.0.1"}));
    EXPECT_EQ(reading.client(), c.client) << c.fields.line("x-forwarded-for", 0).value_or("")
                                          << " | " << c.fields.line("x-real-ip", 0).value_or("");
    EXPECT_EQ(reading.request().peer_is_certain, c.is_certain) << c.client;
  }
}

// So that policies for the address of either hold.
TEST(OriginalRequestTest, ClientsThatContradictingFieldsNameAreKept) {
  const Fields fields{{"x-forwarded-for", "9.9.9.9, 10.0.0.1"}, {"x-real-ip", "192.0.2.1"}};
  const Reading reading(fields, trusting({"10.0.0.1", "127.0.0.1"}));
  const policy::Client client = policy::find_client(reading.request(), trusting({"127.0.0.1"}));
  EXPECT_EQ(client.address, policy::Address::parse("127.0.0.1"));
  EXPECT_EQ(client.claimed[0], policy::Address::parse("9.9.9.9"));
  EXPECT_EQ(client.claimed[1], policy::Address::parse("192.0.2.1"));
}

TEST(OriginalRequestTest, APeerMayBeAUnixSocket) {
  const Fields fields{{"x-forwarded-for", "192.0.2.1, unix:"}};
  EXPECT_EQ(Reading(fields).client(), "unix");
  policy::ClientAddress settings;
  settings.trust_unix = true;
  EXPECT_EQ(Reading(fields, settings).client(), "192.0.2.1");
}

// The proxy appends the client's address: fields that the client sends do not change its identity.
TEST(OriginalRequestTest, NoClientCanPoseAsAnother) {
  rc::check([] {
    const std::vector<std::string> hops{
        "9.9.9.9", "10.0.0.1", "127.0.0.1", "unknown", "unix:", "", "[::1]:1", "\"x", ",", " "};
    Fields fields{};
    const std::size_t lines = *rc::gen::inRange<std::size_t>(0, 4);
    for (std::size_t i = 0; i < lines; ++i) {
      std::string text;
      const std::size_t count = *rc::gen::inRange<std::size_t>(0, 5);
      for (std::size_t j = 0; j < count; ++j) text += *rc::gen::elementOf(hops) + ", ";
      if (i + 1 == lines) {
        fields.add("x-forwarded-for", text + "192.0.2.1");
      } else {
        fields.add("x-forwarded-for", text);
      }
    }
    if (lines == 0) fields.add("x-forwarded-for", "192.0.2.1");
    if (*rc::gen::arbitrary<bool>()) fields.add("forwarded", "for=9.9.9.9");
    const Reading reading(fields, trusting({"10.0.0.1", "127.0.0.1"}));
    RC_ASSERT(reading.client() == "192.0.2.1");
    // The peer's own element is not among the hops that it reported.
    std::string left;
    for (std::size_t i = 0; const auto line = reading.original->line("x-forwarded-for", i); ++i) {
      left += *line;
    }
    RC_ASSERT(left.find("192.0.2.1") == std::string::npos);
  });
}

TEST(OriginalRequestTest, TheTokenIsNotTheClients) {
  const Fields fields{{"authorization", "Bearer secret"}};
  for (const bool ours : {true, false}) {
    const auto original =
        OriginalRequest::read({fields, "GET", std::nullopt, ours}, policy::ClientAddress{});
    EXPECT_EQ(original->line("authorization", 0).has_value(), !ours);
  }
}

}  // namespace
}  // namespace headgate::server
