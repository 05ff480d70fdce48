#include "headgate/policy/match/host.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/base/ascii.h"

namespace headgate::policy {
namespace {

std::string host(std::string_view text) {
  std::string out = "before ";
  append_host(text, out);
  return out.substr(7);
}

TEST(Host, ANameIsOneInAnyCaseAndWithAFinalDot) {
  for (const char* const text : {"api.example", "API.Example", "api.example."}) {
    EXPECT_EQ(host(text), "api.example") << text;
  }
  // The last label is no number.
  for (const char* const text : {"", "localhost", "a_b-c", "7.example", "127.0.0.1.example", "0xg",
                                 "1.2.3.4a", "192.0.2.x7", "10.de", "x0", "a.0y1", "1-2"}) {
    EXPECT_EQ(host(text), text);
  }
}

TEST(Host, AnIpv4AddressIsOneInAnyNotation) {
  for (const char* const text :
       {"192.0.2.7", "192.0.2.7.", "0xc0.0.2.7", "0XC0.0x0.0X2.0x7", "192.0.519", "192.519",
        "3221225991", "0xc0000207", "0xC0000207", "0xc0.0.0x00000000000000000000207."}) {
    EXPECT_EQ(host(text), "192.0.2.7") << text;
  }
  EXPECT_EQ(host("127.1"), "127.0.0.1");
  EXPECT_EQ(host("0"), "0.0.0.0");
  EXPECT_EQ(host("0x"), "0.0.0.0");
  EXPECT_EQ(host("1.0x"), "1.0.0.0");
  EXPECT_EQ(host("4294967295"), "255.255.255.255");
  EXPECT_EQ(host("1.2.65535"), "1.2.255.255");
}

TEST(Host, AnIpv6AddressIsOneInAnyNotation) {
  for (const char* const text : {"[2001:db8::1]", "[2001:DB8:0::1]", "[2001:db8:0:0:0:0:0:1]",
                                 "[2001:db8::0001]", "[2001:db8::0.0.0.1]"}) {
    EXPECT_EQ(host(text), "[2001:db8::1]") << text;
  }
  EXPECT_EQ(host("[::FF]"), "[::ff]");
  EXPECT_EQ(host("[::]"), "[::]");
  EXPECT_EQ(host("[::ffff:192.0.2.7]"), "192.0.2.7");
  EXPECT_EQ(host("[::FFFF:c000:207]"), "192.0.2.7");
}

TEST(Host, AllMalformedHostsAreOne) {
  for (const char* const text : {"u@h",
                                 "h:80",
                                 "%61",
                                 "a b",
                                 "\xff",
                                 "a..b",
                                 ".a",
                                 "a..",
                                 ".",
                                 "..",  // is_host()
                                 "256.0.0.1",
                                 "1.2.3.256",
                                 "1.2.65536",
                                 "1.16777216",
                                 "4294967296",
                                 "18446744073709551617",
                                 "0x100000000",
                                 "0xfffffffffffffffffffffffffff.1",
                                 "1.2.3.4.5",
                                 "192.0.2.07",  // octal to some
                                 "0300.0.2.7",
                                 "00",
                                 "1.2.3.08",
                                 "09",
                                 "0x1g.1",
                                 "a.1",
                                 "web.0x1",
                                 "1.2.a.4",
                                 "1_.2",
                                 "-1.1",  // no IPv4
                                 "[",
                                 "]",
                                 "[]",
                                 "[1]",
                                 "[192.0.2.7]",
                                 "[::1",
                                 "::1]",
                                 "[::1::2]",
                                 "[1:2:3:4:5:6:7:8:9]",
                                 "[2001:db8::12345]",
                                 "[::1].",
                                 "[fe80::1%1]",
                                 "[::1]]",
                                 "[.:]",
                                 "[::256.0.0.1]"}) {
    EXPECT_EQ(host(text), malformed_host) << text;
  }
}

TEST(Host, APatternIsThatOfRequests) {
  EXPECT_EQ(host_pattern("API.Example"), "api.example");
  EXPECT_EQ(host_pattern("*.Example"), "*.example");
  EXPECT_EQ(host_pattern("127.1"), "127.0.0.1");
  EXPECT_EQ(host_pattern("192.0.2.7"), "192.0.2.7");
  EXPECT_EQ(host_pattern("[2001:DB8:0::1]"), "[2001:db8::1]");
  EXPECT_EQ(host_pattern("[::ffff:192.0.2.7]"), "192.0.2.7");
  for (const char* const text : {"*", "192.0.2.*", "*.7", "[2001:db8:*", "[2001:db8::*]", "[", "",
                                 "node.1", "api.example.", "api.example:81"}) {
    EXPECT_EQ(host_pattern(text), text);
  }
}

TEST(Host, TextsAreTheSameButForCaseAndAFinalDot) {
  EXPECT_TRUE(is_same_text("API.example.", "api.example"));
  EXPECT_TRUE(is_same_text("[::A]", "[::a]"));
  EXPECT_TRUE(is_same_text("", ""));
  EXPECT_FALSE(is_same_text("127.1", "127.0.0.1"));
  EXPECT_FALSE(is_same_text("api.example", "api.example:80"));
  EXPECT_FALSE(is_same_text("a", "ab"));
}

std::string written(std::uint64_t number) {
  std::string digits;
  const int base = *rc::gen::element(10, 16);
  do {
    const char digit = "0123456789abcdef"[number % static_cast<unsigned>(base)];
    digits.insert(digits.begin(), *rc::gen::arbitrary<bool>() ? upper(digit) : digit);
    number /= static_cast<unsigned>(base);
  } while (number != 0);
  const std::string zeros(*rc::gen::inRange<std::size_t>(0, 4), '0');
  if (base == 10) return digits;
  return *rc::gen::element<std::string>("0x", "0X") + zeros + digits;
}

RC_GTEST_PROP(Host, NoNotationOfAnIpv4AddressEscapes, ()) {
  const auto bits = *rc::gen::arbitrary<std::uint32_t>();
  const auto parts = *rc::gen::inRange(1, 5);
  std::string notation, canonical;
  for (int i = 0; i < 4; ++i) {
    canonical += (i > 0 ? "." : "") + std::to_string(bits >> (24 - 8 * i) & 255);
    if (i < parts - 1) notation += written(bits >> (24 - 8 * i) & 255) + '.';
  }
  notation += written(bits & ((std::uint64_t{1} << (8 * (5 - parts))) - 1));
  RC_ASSERT(host(notation) == canonical);
  RC_ASSERT(host(canonical) == canonical);
  RC_ASSERT(host_pattern(notation) == canonical);
}

RC_GTEST_PROP(Host, ReadAgainItIsTheSame, ()) {
  const auto text =
      *rc::gen::container<std::string>(rc::gen::elementOf(std::string("0179xaF.:[]-*@")));
  const std::string once = host(text);
  RC_ASSERT(host(once) == once);
  if (once != malformed_host) RC_ASSERT(host_pattern(once) == once);
}

}  // namespace
}  // namespace headgate::policy
