#include "headgate/policy/address/address.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <string_view>

namespace headgate::policy {
namespace {

std::string text_of(const Address& address, unsigned prefix = 128) {
  char out[Address::text_max];
  return std::string(out, address.write(out, prefix));
}

std::string canonical(std::string_view text) {
  const auto address = Address::parse(text);
  return address ? text_of(*address) : "none";
}

TEST(Address, IsItsBits) {
  EXPECT_EQ(canonical("10.0.0.2"), "10.0.0.2");
  EXPECT_EQ(canonical("::ffff:10.0.0.2"), "10.0.0.2");
  EXPECT_EQ(canonical("::FFFF:0a00:0002"), "10.0.0.2");
  EXPECT_EQ(canonical("2001:0DB8:0:0::1"), "2001:db8::1");
  EXPECT_EQ(canonical("2001:db8:0:1:1:1:1:1"), "2001:db8:0:1:1:1:1:1");
  EXPECT_EQ(canonical("2001:0:0:1:0:0:0:1"), "2001:0:0:1::1");
  EXPECT_EQ(canonical("2001:db8:0:0:1:0:0:1"), "2001:db8::1:0:0:1");
  EXPECT_EQ(canonical("::"), "::");
  EXPECT_EQ(canonical("::1"), "::1");
  EXPECT_EQ(canonical("1::"), "1::");
  EXPECT_EQ(canonical("1:2:3:4:5:6:7::"), "1:2:3:4:5:6:7:0");
  EXPECT_EQ(canonical("64:ff9b::192.0.2.33"), "64:ff9b::c000:221");
}

TEST(Address, NothingElse) {
  for (const std::string_view text : {"",
                                      "1",
                                      "1.2.3",
                                      "1.2.3.4.5",
                                      "256.1.1.1",
                                      "01.2.3.4",
                                      "1.2.3.4 ",
                                      " 1.2.3.4",
                                      "1.2.3.-4",
                                      "1.2.3.4:80",
                                      "[::1]",
                                      "::1%eth0",
                                      ":",
                                      ":::",
                                      "1:2:3:4:5:6:7",
                                      "1:2:3:4:5:6:7:8:9",
                                      "1:2:3:4:5:6:7:8::",
                                      "::1:2:3:4:5:6:7:8",
                                      "1::2::3",
                                      "12345::",
                                      "g::",
                                      ":1::2",
                                      "1:",
                                      "1::2:",
                                      "::1.2.3",
                                      "1.2.3.4::",
                                      "1:2:3:4:5:6:7:1.2.3.4",
                                      "::1.2.3.4:5",
                                      "1..2.3",
                                      "0x1.2.3.4",
                                      "1.2.3.4/8"}) {
    EXPECT_EQ(canonical(text), "none") << text;
  }
}

TEST(Address, ReadsExactlyTheBytesOfTheView) {
  const std::string longest = "1111:1111:1111:1111:1111:1111:255.255.255.255";
  ASSERT_EQ(longest.size() + 1, std::size_t{INET6_ADDRSTRLEN});
  EXPECT_EQ(canonical(longest), "1111:1111:1111:1111:1111:1111:ffff:ffff");
  EXPECT_EQ(canonical(longest + '5'), "none");
  EXPECT_EQ(canonical(std::string(100, '1')), "none");
  EXPECT_EQ(canonical(std::string_view("10.0.0.25").substr(0, 8)), "10.0.0.2");
  EXPECT_EQ(canonical(std::string_view("::1a").substr(0, 3)), "::1");
  using namespace std::string_view_literals;
  EXPECT_EQ(canonical("10.0.0.2\0"sv), "none");
  EXPECT_EQ(canonical("::1\0::"sv), "none");
}

TEST(Address, MaskedAndWrittenWithItsPrefix) {
  const Address v4 = Address::parse("10.1.2.255").value();
  EXPECT_EQ(text_of(v4.masked(24), 24), "10.1.2.0/24");
  EXPECT_EQ(text_of(v4.masked(25), 25), "10.1.2.128/25");
  EXPECT_EQ(text_of(v4.masked(32), 32), "10.1.2.255");
  EXPECT_EQ(text_of(v4.masked(1), 1), "0.0.0.0/1");
  const Address v6 = Address::parse("2001:db8:1:2ff:ffff:ffff:ffff:ffff").value();
  EXPECT_EQ(text_of(v6.masked(64), 64), "2001:db8:1:2ff::/64");
  EXPECT_EQ(text_of(v6.masked(57), 57), "2001:db8:1:280::/57");
  EXPECT_EQ(text_of(v6.masked(128), 128), "2001:db8:1:2ff:ffff:ffff:ffff:ffff");
  EXPECT_EQ(text_of(v6.masked(0), 0), "::/0");
  const auto longest = Address::parse("1111:1111:1111:1111:1111:1111:1111:1111").value();
  EXPECT_LE(text_of(longest, 127).size(), Address::text_max);
}

TEST(AddressBlock, Contains) {
  const auto in = [](std::string_view block, std::string_view address) {
    return AddressBlock::parse(block).value().contains(Address::parse(address).value());
  };
  EXPECT_TRUE(in("10.0.0.0/8", "10.255.0.1"));
  EXPECT_TRUE(in("10.9.9.9/8", "10.255.0.1"));
  EXPECT_FALSE(in("10.0.0.0/8", "11.0.0.1"));
  EXPECT_TRUE(in("0.0.0.0/0", "11.0.0.1"));
  EXPECT_FALSE(in("0.0.0.0/0", "::1"));
  EXPECT_FALSE(in("::/0", "11.0.0.1"));
  EXPECT_TRUE(in("::1", "0::1"));
  EXPECT_FALSE(in("::1", "::2"));
  EXPECT_TRUE(in("::ffff:10.0.0.0/104", "10.1.2.3"));
  EXPECT_TRUE(in("127.0.0.1", "::ffff:127.0.0.1"));
  EXPECT_TRUE(in("2001:db8::/33", "2001:db8:7fff::1"));
  EXPECT_FALSE(in("2001:db8::/33", "2001:db8:8000::1"));
  for (const std::string_view text :
       {"10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/08", "/8", "::/129", "10.0.0.0/8/8",
        "::ffff:10.0.0.0/95", "unix:"}) {
    EXPECT_FALSE(AddressBlock::parse(text)) << text;
  }
}

RC_GTEST_PROP(Address, AgreesWithInetPtonOnAnyText, ()) {
  const auto text = *rc::gen::oneOf(
      rc::gen::resize(20, rc::gen::container<std::string>(
                              rc::gen::elementOf(std::string("0123456789abcdefF:::..")))),
      rc::gen::map(rc::gen::container<std::vector<std::uint16_t>>(
                       8, rc::gen::element<std::uint16_t>(0, 0, 1, 0xffff, 0xabc)),
                   [](const std::vector<std::uint16_t>& groups) {
                     std::string out;
                     for (const std::uint16_t g : groups) {
                       char hex[8];
                       std::snprintf(hex, sizeof hex, "%s%x", out.empty() ? "" : ":", g);
                       out += hex;
                     }
                     return out;
                   }));
  std::uint8_t bytes[16];
  const auto address = Address::parse(text);
  if (inet_pton(AF_INET, text.c_str(), bytes) == 1) {
    std::uint8_t v4[4];
    std::memcpy(v4, bytes, 4);
    RC_ASSERT(address == Address::from_v4(v4));
  } else if (inet_pton(AF_INET6, text.c_str(), bytes) == 1) {
    RC_TAG("IPv6");
    RC_ASSERT(address == Address::from_v6(bytes));
  } else {
    RC_ASSERT(!address);
  }
}

RC_GTEST_PROP(Address, WritesWhatInetNtopWrites, ()) {
  const auto groups = *rc::gen::container<std::vector<std::uint16_t>>(
      8, rc::gen::weightedOneOf<std::uint16_t>(
             {{2, rc::gen::just<std::uint16_t>(0)}, {1, rc::gen::arbitrary<std::uint16_t>()}}));
  // inet_ntop writes these two with an IPv4 tail; RFC 5952 does so only for known prefixes.
  RC_PRE(std::any_of(groups.begin(), groups.begin() + 5, [](auto g) { return g != 0; }));
  std::uint8_t bytes[16];
  for (std::size_t i = 0; i < 8; ++i) {
    bytes[2 * i] = static_cast<std::uint8_t>(groups[i] >> 8);
    bytes[2 * i + 1] = static_cast<std::uint8_t>(groups[i] & 0xff);
  }
  char expected[INET6_ADDRSTRLEN];
  inet_ntop(AF_INET6, bytes, expected, sizeof expected);
  const Address address = Address::from_v6(bytes);
  RC_ASSERT(text_of(address) == expected);
  RC_ASSERT(Address::parse(expected) == address);
}

}  // namespace
}  // namespace headgate::policy
