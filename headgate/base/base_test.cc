#include <gtest/gtest.h>

#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "headgate/base/instant.h"
#include "headgate/base/random.h"
#include "headgate/base/siphash.h"
#include "headgate/base/writer.h"

namespace headgate {
namespace {

// The reference key and inputs of the SipHash authors: key 00..0f, input 00..(n-1).
constexpr HashSecret reference_key{0x0706050403020100, 0x0f0e0d0c0b0a0908};

std::string counted(std::size_t n) {
  std::string s;
  for (std::size_t i = 0; i < n; ++i) s.push_back(static_cast<char>(i));
  return s;
}

std::string hex(const Hash128& h) {
  std::string out;
  for (std::uint64_t word : {h.lo, h.hi}) {
    for (int i = 0; i < 8; ++i, word >>= 8) {
      constexpr char digits[] = "0123456789abcdef";
      out += digits[word >> 4 & 15];
      out += digits[word & 15];
    }
  }
  return out;
}

TEST(SipHash, AgreesWithTheAuthorsVectors) {
  constexpr std::pair<std::size_t, const char*> vectors[] = {
      {0, "a3817f04ba25a8e66df67214c7550293"},  {1, "da87c1d86b99af44347659119b22fc45"},
      {7, "a1f1ebbed8dbc153c0b84aa61ff08239"},  {8, "3b62a9ba6258f5610f83e264f31497b4"},
      {15, "5493e99933b0a8117e08ec0f97cfc3d9"}, {16, "6ee2a4ca67b054bbfd3315bf85230577"},
      {33, "77c6077146f01c32b6b69d5f4ea9ffcf"}, {63, "5150d1772f50834a503e069a973fbd7c"}};
  for (const auto& [length, digest] : vectors) {
    EXPECT_EQ(hex(siphash<2, 4>(reference_key, counted(length))), digest) << length;
  }
  constexpr std::pair<std::size_t, std::uint64_t> vectors64[] = {{0, 0x726fdb47dd0e0e31},
                                                                 {15, 0xa129ca6149be45e5}};
  for (const auto& [length, digest] : vectors64) {
    EXPECT_EQ((siphash64<2, 4>(reference_key, counted(length))), digest) << length;
  }
}

TEST(SipHash, TheLowHalvesOfAnExpandedHashIdentifyIt) {
  std::uint64_t word = 1;
  for (int round = 0; round < 1000; ++round) {
    word = word * 6364136223846793005 + 1442695040888963407;
    const Hash128 expanded = expand_hash(word);
    const auto low = static_cast<std::uint32_t>(expanded.hi);
    EXPECT_EQ(expanded.lo, word);
    for (int bit = 32; bit < 64; ++bit) {
      const std::uint64_t other = word ^ std::uint64_t{1} << bit;  // with the same low half
      EXPECT_NE(static_cast<std::uint32_t>(expand_hash(other).hi), low) << bit;
    }
  }
}

TEST(SipHash, DependsOnEveryByteOnTheLengthAndOnTheSecret) {
  const std::string text = counted(40);
  const Hash128 whole = table_hash(reference_key, text);
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string other = text;
    other[i] = static_cast<char>(other[i] ^ 1);
    EXPECT_NE(table_hash(reference_key, other), whole) << i;
    EXPECT_NE(table_hash(reference_key, std::string_view(text).substr(0, i)), whole) << i;
  }
  EXPECT_NE(table_hash({1, 2}, text), whole);
  EXPECT_NE(public_hash(reference_key, text), whole);
}

TEST(Random, SecretsDiffer) {
  const HashSecret a = random_secret();
  const HashSecret b = random_secret();
  EXPECT_FALSE(a.k0 == b.k0 && a.k1 == b.k1);
}

TEST(Writer, WritesWholeTextsOrNone) {
  std::array<char, 8> room{};
  Writer w(room);
  w.put("abc");
  w.put_decimal(42);
  EXPECT_EQ(w.text(), "abc42");
  w.put("wxyz");
  EXPECT_TRUE(w.overflow());
  EXPECT_EQ(w.text(), "abc42");
  Writer exact(room);
  exact.put_decimal(99999999);
  EXPECT_FALSE(exact.overflow());
  exact.put('x');
  EXPECT_TRUE(exact.overflow());
}

TEST(Writer, WritesAllDigitsOfANumberOrNone) {
  std::vector<std::uint64_t> numbers{0, ~std::uint64_t{0}};
  std::uint64_t ten_to = 1;
  for (int digits = 1; digits < 20; ++digits, ten_to *= 10) {
    for (const std::uint64_t near : {ten_to - 1, ten_to, ten_to + 1, ten_to / 9 * 8, ten_to * 9}) {
      numbers.push_back(near);
    }
  }
  for (std::uint64_t x = 1; numbers.size() < 100'000;) {
    x = x * 6364136223846793005 + 1442695040888963407;
    numbers.push_back(x >> (x >> 58));  // numbers of every length
  }
  std::array<char, 24> room{};
  for (const std::uint64_t number : numbers) {
    const std::string expected = std::to_string(number);
    Writer wide(room);
    wide.put_decimal(number);
    ASSERT_EQ(wide.text(), expected);
    Writer exact{std::span(room).first(expected.size())};
    exact.put_decimal(number);
    ASSERT_EQ(exact.text(), expected);
    Writer narrow{std::span(room).first(expected.size() - 1)};
    narrow.put_decimal(number);
    ASSERT_TRUE(narrow.overflow()) << expected;
    ASSERT_EQ(narrow.text(), "");
  }
}

TEST(Writer, RewindRestoresTextAndOverflow) {
  std::array<char, 4> room{};
  Writer w(room);
  w.put("ab");
  const Writer::Mark mark = w.mark();
  w.put('c');
  w.put("too long");
  EXPECT_TRUE(w.overflow());
  w.rewind(mark);
  EXPECT_EQ(w.text(), "ab");
  EXPECT_FALSE(w.overflow());
}

TEST(Seconds, RoundUpAndSaturate) {
  EXPECT_EQ(ceil_seconds(-5), 0u);
  EXPECT_EQ(ceil_seconds(0), 0u);
  EXPECT_EQ(ceil_seconds(1), 1u);
  EXPECT_EQ(ceil_seconds(nanos_per_second), 1u);
  EXPECT_EQ(ceil_seconds(nanos_per_second + 1), 2u);
  EXPECT_EQ(ceil_seconds(i128_max), field_integer_max);
}

TEST(Milliseconds, RoundUpAndSaturate) {
  EXPECT_EQ(ceil_milliseconds(-5), 0);
  EXPECT_EQ(ceil_milliseconds(0), 0);
  EXPECT_EQ(ceil_milliseconds(1), 1);
  EXPECT_EQ(ceil_milliseconds(1'000'000), 1);
  EXPECT_EQ(ceil_milliseconds(1'000'001), 2);
  EXPECT_EQ(ceil_milliseconds(i128_max), static_cast<std::int64_t>(field_integer_max) * 1000);
}

TEST(Division, RoundsUpOrDown) {
  EXPECT_EQ(ceil_div(7, 2), 4);
  EXPECT_EQ(ceil_div(-7, 2), -3);
  EXPECT_EQ(ceil_div(6, 2), 3);
  EXPECT_EQ(floor_div(7, 2), 3);
  EXPECT_EQ(floor_div(-7, 2), -4);
  EXPECT_EQ(floor_div(-6, 2), -3);
}

}  // namespace
}  // namespace headgate
