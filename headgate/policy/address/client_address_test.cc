#include "headgate/policy/address/client_address.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headgate::policy {
namespace {

class TwoHeaders final : public Headers {
 public:
  TwoHeaders(std::vector<std::string> forwarded, std::vector<std::string> x_forwarded_for)
      : forwarded_(std::move(forwarded)), x_forwarded_for_(std::move(x_forwarded_for)) {}
  [[nodiscard]] std::optional<std::string_view> line(std::string_view name,
                                                     std::size_t nth) const noexcept override {
    const auto& lines = name == "forwarded" ? forwarded_ : x_forwarded_for_;
    if (name != "forwarded" && name != "x-forwarded-for") return std::nullopt;
    return nth < lines.size() ? std::optional<std::string_view>(lines[nth]) : std::nullopt;
  }

 private:
  std::vector<std::string> forwarded_;
  std::vector<std::string> x_forwarded_for_;
};

// The client behind 10.0.0.1, where 10.0.0.0/8 and fd00::/8 are trusted.
Client found(std::vector<std::string> forwarded, std::vector<std::string> x_forwarded_for,
             std::string_view peer = "10.0.0.1", bool trust_unix = true) {
  ClientAddress settings;
  settings.trusted_proxies = {*AddressBlock::parse("10.0.0.0/8"), *AddressBlock::parse("fd00::/8")};
  settings.trust_unix = trust_unix;
  const TwoHeaders headers(std::move(forwarded), std::move(x_forwarded_for));
  Request request;
  request.peer = Address::parse(peer);
  request.headers = &headers;
  return find_client(request, settings);
}

// Its address; "" for none.
std::string client(std::vector<std::string> forwarded, std::vector<std::string> x_forwarded_for,
                   std::string_view peer = "10.0.0.1", bool trust_unix = true) {
  const auto address =
      found(std::move(forwarded), std::move(x_forwarded_for), peer, trust_unix).address;
  if (!address) return "";
  char text[Address::text_max];
  return std::string(text, address->write(text, 128));
}

TEST(ClientAddress, OnlyTrustedPeersAreBelieved) {
  EXPECT_EQ(client({}, {"203.0.113.5"}), "203.0.113.5");
  EXPECT_EQ(client({"for=203.0.113.5"}, {}), "203.0.113.5");
  EXPECT_EQ(client({}, {"203.0.113.5"}, "::ffff:10.9.9.9"), "203.0.113.5");
  EXPECT_EQ(client({}, {"203.0.113.5"}, "fd00::1"), "203.0.113.5");
  EXPECT_EQ(client({}, {"203.0.113.5"}, "198.51.100.1"), "198.51.100.1");
  EXPECT_EQ(client({"for=203.0.113.5"}, {}, "2001:db8::1"), "2001:db8::1");
  EXPECT_EQ(client({}, {}), "10.0.0.1");
}

TEST(ClientAddress, UnixSocketsAreTrustedByName) {
  EXPECT_EQ(client({}, {"203.0.113.5"}, "", true), "203.0.113.5");
  EXPECT_EQ(client({}, {}, "", true), "");
  EXPECT_EQ(client({}, {"203.0.113.5"}, "", false), "");
  EXPECT_EQ(client({}, {"nonsense"}, "", true), "");
}

TEST(ClientAddress, XForwardedForFromTheRight) {
  struct Case {
    std::vector<std::string> lines;
    const char* client;
  };
  const Case cases[] = {{{"1.1.1.1, 203.0.113.5"}, "203.0.113.5"},
                        {{"1.1.1.1, 203.0.113.5, 10.2.2.2"}, "203.0.113.5"},
                        {{"1.1.1.1", "203.0.113.5", "10.2.2.2, fd00::7"}, "203.0.113.5"},
                        {{"10.3.3.3, 10.2.2.2"}, "10.3.3.3"},
                        {{"203.0.113.5,10.2.2.2"}, "203.0.113.5"},
                        {{"\t203.0.113.5 ,  10.2.2.2\t"}, "203.0.113.5"},
                        {{"203.0.113.5, , 10.2.2.2,"}, "203.0.113.5"},
                        {{"203.0.113.5:4711"}, "203.0.113.5"},
                        {{"2001:DB8::5"}, "2001:db8::5"},
                        {{"[2001:db8::5]"}, "2001:db8::5"},
                        {{"[2001:db8::5]:4711"}, "2001:db8::5"},
                        {{"::ffff:203.0.113.5"}, "203.0.113.5"},
                        {{"1.1.1.1, unknown, 10.2.2.2"}, "10.2.2.2"},
                        {{"1.1.1.1, 999.1.1.1"}, "10.0.0.1"},
                        {{"1.1.1.1, [2001:db8::5"}, "10.0.0.1"},
                        {{"1.1.1.1, [2001:db8::5]x"}, "10.0.0.1"},
                        {{"1.1.1.1, [203.0.113.5]"}, "10.0.0.1"},
                        {{"1.1.1.1, \"203.0.113.5\""}, "10.0.0.1"},
                        {{"1.1.1.1, fe80::1%eth0"}, "10.0.0.1"},
                        {{""}, "10.0.0.1"},
                        {{",,,"}, "10.0.0.1"}};
  for (const Case& c : cases) EXPECT_EQ(client({}, c.lines), c.client) << c.lines.front();
}

TEST(ClientAddress, ForwardedFromTheRight) {
  struct Case {
    std::vector<std::string> lines;
    const char* client;
  };
  const Case cases[] = {
      {{"for=1.1.1.1, for=203.0.113.5"}, "203.0.113.5"},
      {{"for=1.1.1.1, for=203.0.113.5;proto=https;by=10.2.2.2, for=10.2.2.2"}, "203.0.113.5"},
      {{"for=1.1.1.1", "For=203.0.113.5", "FOR=\"10.2.2.2\""}, "203.0.113.5"},
      {{"for=\"[2001:db8:cafe::17]:4711\""}, "2001:db8:cafe::17"},
      {{"for=\"[2001:db8:cafe::17]\""}, "2001:db8:cafe::17"},
      {{"for=[2001:db8:cafe::17]:4711"}, "2001:db8:cafe::17"},
      {{"for=\"203.0.113.5:4711\""}, "203.0.113.5"},
      {{"proto=http;for=203.0.113.5;by=\"a,b;for=1.1.1.1\""}, "203.0.113.5"},
      {{"host=\"x\\\"y, for=9.9.9.9\";for=203.0.113.5"}, "203.0.113.5"},
      {{" for=203.0.113.5 ; proto=http , for=10.2.2.2 "}, "203.0.113.5"},
      {{"for=203.0.113.5;, ,for=10.2.2.2"}, "203.0.113.5"},
      {{"for=1.1.1.1, for=unknown"}, "10.0.0.1"},
      {{"for=1.1.1.1, for=_hidden, for=10.2.2.2"}, "10.2.2.2"},
      {{"for=1.1.1.1, proto=https"}, "10.0.0.1"},
      {{"for=1.1.1.1, for=2.2.2.2;for=3.3.3.3"}, "10.0.0.1"},
      {{"for=1.1.1.1, for=\"203.0.113.5"}, "10.0.0.1"},
      {{"for=1.1.1.1, for"}, "10.0.0.1"},
      {{"for=1.1.1.1, for="}, "10.0.0.1"},
      {{"for=1.1.1.1, =203.0.113.5"}, "10.0.0.1"},
      {{"for=1.1.1.1 for=203.0.113.5"}, "10.0.0.1"},
      {{"for=1.1.1.1, for=\"203.0.113\\.5\""}, "10.0.0.1"},
      {{"for=\"", "for=203.0.113.5"}, "203.0.113.5"},
      {{""}, "10.0.0.1"}};
  for (const Case& c : cases) EXPECT_EQ(client(c.lines, {}), c.client) << c.lines.front();
}

TEST(ClientAddress, TwoHeadersThatDisagreeAreNotBelieved) {
  EXPECT_EQ(client({"for=203.0.113.5"}, {"203.0.113.5"}), "203.0.113.5");
  EXPECT_EQ(client({"for=203.0.113.5"}, {"1.1.1.1, 203.0.113.5"}), "203.0.113.5");
  EXPECT_EQ(client({"for=203.0.113.6"}, {"203.0.113.5"}), "10.0.0.1");
  EXPECT_EQ(client({"for=unknown"}, {"203.0.113.5"}), "10.0.0.1");
  EXPECT_EQ(client({""}, {"203.0.113.5"}), "10.0.0.1");
  EXPECT_EQ(client({"for=203.0.113.6"}, {"203.0.113.5"}, ""), "");
}

TEST(ClientAddress, IsCertainWhereNoHeaderCanHideAnother) {
  EXPECT_TRUE(found({}, {}).is_certain);
  EXPECT_TRUE(found({}, {"203.0.113.5"}).is_certain);
  EXPECT_TRUE(found({}, {"unknown, 203.0.113.5"}).is_certain);
  EXPECT_TRUE(found({}, {"10.0.0.7, 10.0.0.6"}).is_certain);
  EXPECT_TRUE(found({"for=203.0.113.5"}, {"203.0.113.5"}).is_certain);
  EXPECT_TRUE(found({"for=1"}, {"x"}, "203.0.113.5").is_certain) << "the peer is not trusted";
  EXPECT_FALSE(found({}, {"203.0.113.5, unknown"}).is_certain);
  EXPECT_FALSE(found({"for=\"x, for=203.0.113.5"}, {}).is_certain);
  EXPECT_FALSE(found({""}, {"203.0.113.5"}).is_certain);
  EXPECT_TRUE(found({}, std::vector<std::string>(hops_max + 1, "203.0.113.5")).is_certain);
  const Client disputed = found({"for=1.1.1.1"}, {"203.0.113.5"});
  EXPECT_FALSE(disputed.is_certain);
  EXPECT_EQ(disputed.claimed[0], Address::parse("1.1.1.1"));
  EXPECT_EQ(disputed.claimed[1], Address::parse("203.0.113.5"));
}

TEST(ClientAddress, IsBounded) {
  // The nearest hops count, on whatever number of lines.
  std::vector<std::string> lines(2 * hops_max, "1.1.1.1");
  lines.emplace_back("203.0.113.5");
  EXPECT_EQ(client({}, lines), "203.0.113.5");
  lines.emplace_back("10.1.1.1");
  EXPECT_EQ(client({}, lines), "203.0.113.5");
  std::string chain = "203.0.113.5";
  for (std::size_t i = 1; i < hops_max; ++i) chain += ",10.1.1.1";
  EXPECT_EQ(client({}, {chain}), "203.0.113.5");
  EXPECT_EQ(client({}, {chain + ",10.1.1.1"}), "10.1.1.1");
  EXPECT_EQ(client({}, {std::string(1 << 20, ',') + "203.0.113.5"}), "203.0.113.5");
}

}  // namespace
}  // namespace headgate::policy
