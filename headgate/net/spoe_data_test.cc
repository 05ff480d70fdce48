#include "headgate/net/spoe_data.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <memory>
#include <string>
#include <string_view>

namespace headgate::net {
namespace {

std::string varint(std::uint64_t number) {
  std::string out;
  append_spoe_varint(out, number);
  return out;
}

TEST(SpoeVarint, IsWrittenAsTheProtocolSays) {
  EXPECT_EQ(varint(0), std::string(1, '\0'));
  EXPECT_EQ(varint(239), "\xef");
  EXPECT_EQ(varint(240), std::string("\xf0\x00", 2));
  EXPECT_EQ(varint(2287), "\xff\x7f");
  EXPECT_EQ(varint(2288), std::string("\xf0\x80\x00", 3));
  EXPECT_EQ(varint(264431), "\xff\xff\x7f");
  EXPECT_EQ(varint(264432), std::string("\xf0\x80\x80\x00", 4));
  EXPECT_EQ(varint(33818864), std::string("\xf0\x80\x80\x80\x00", 5));
  EXPECT_EQ(varint(~std::uint64_t{0}).size(), 10u);
}

TEST(SpoeVarint, ReadsWhatWasWritten) {
  rc::check([](std::uint64_t any, unsigned shift) {
    for (const std::uint64_t number : {any >> shift % 64, ~std::uint64_t{0} - any % 16}) {
      const std::string bytes = varint(number) + "rest";
      SpoeCursor cursor(bytes);
      RC_ASSERT(cursor.varint() == number);
      RC_ASSERT(cursor.rest() == "rest");
      RC_ASSERT(!SpoeCursor(std::string_view(bytes).substr(0, bytes.size() - 5)).varint());
    }
  });
}

TEST(SpoeVarint, RefusesMoreThan64Bits) {
  std::string largest = varint(~std::uint64_t{0});
  EXPECT_TRUE(SpoeCursor(largest).varint());
  ++largest.back();
  EXPECT_FALSE(SpoeCursor(largest).varint());
  EXPECT_FALSE(SpoeCursor(std::string(20, '\xff')).varint());
}

TEST(SpoeData, RefusesTypesAndLengthsThatAreNot) {
  EXPECT_FALSE(SpoeCursor("\x0a").value());
  EXPECT_FALSE(SpoeCursor("\x06\x7f\x00").value());  // an address of two bytes
  EXPECT_FALSE(SpoeCursor("\x08\x03"
                          "ab")
                   .value());  // a string that is cut
  EXPECT_FALSE(SpoeCursor("").value());
  EXPECT_FALSE(SpoeCursor("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x0f").value());
}

TEST(SpoeData, ReadsWhatWasWritten) {
  const SpoeValue values[] = {{SpoeType::null, 0, {}},
                              {SpoeType::boolean, 1, {}},
                              {SpoeType::boolean, 0, {}},
                              {SpoeType::int32, 7, {}},
                              {SpoeType::uint32, 300, {}},
                              {SpoeType::int64, ~std::uint64_t{0}, {}},
                              {SpoeType::uint64, 1, {}},
                              {SpoeType::ipv4, 0, "abcd"},
                              {SpoeType::ipv6, 0, "abcdefghijklmnop"},
                              {SpoeType::string, 0, "a text"},
                              {SpoeType::binary, 0, {}}};
  std::string bytes;
  for (const SpoeValue& value : values) append_spoe_value(bytes, value);
  SpoeCursor cursor(bytes);
  for (const SpoeValue& value : values) {
    const auto read = cursor.value();
    ASSERT_TRUE(read);
    EXPECT_EQ(read->type, value.type);
    EXPECT_EQ(read->number, value.number);
    EXPECT_EQ(read->bytes, value.bytes);
  }
  EXPECT_TRUE(cursor.at_end());
}

TEST(SpoeData, AnyBytesAreReadWithinTheirLimits) {
  rc::check([](const std::string& bytes) {
    // An exact-size copy, so that AddressSanitizer reports a read of any other byte.
    const auto copy = std::make_unique<char[]>(bytes.size());
    bytes.copy(copy.get(), bytes.size());
    SpoeCursor cursor({copy.get(), bytes.size()});
    while (!cursor.at_end() && cursor.text() && cursor.value()) {
    }
  });
}

}  // namespace
}  // namespace headgate::net
