#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>

#include "headgate/base/utf8.h"
#include "headgate/field/sf/chars.h"
#include "headgate/field/sf/parse.h"
#include "headgate/field/sf/reader.h"
#include "headgate/field/sf/serialise.h"

namespace headgate::field::sf {
namespace {

rc::Gen<std::string> text_of(std::string first, std::string rest) {
  return rc::gen::map(rc::gen::pair(rc::gen::elementOf(first),
                                    rc::gen::container<std::string>(rc::gen::elementOf(rest))),
                      [](const auto& p) { return p.first + p.second; });
}

std::string all(CharClass wanted) {
  std::string out;
  for (int c = 0; c < 256; ++c) {
    if (is(static_cast<char>(c), wanted)) out += static_cast<char>(c);
  }
  return out;
}

rc::Gen<std::string> arbitrary_key() { return text_of(all(key_start), all(key_char)); }

rc::Gen<std::string> printable() {
  return rc::gen::container<std::string>(rc::gen::inRange<char>(0x20, 0x7f));
}

std::string utf8_of(const std::vector<char32_t>& points) {
  std::string out;
  for (const char32_t p : points) {
    const auto tail = [&](int shift) { out += static_cast<char>(0x80 | (p >> shift & 0x3f)); };
    if (p < 0x80) {
      out += static_cast<char>(p);
    } else if (p < 0x800) {
      out += static_cast<char>(0xc0 | p >> 6), tail(0);
    } else if (p < 0x10000) {
      out += static_cast<char>(0xe0 | p >> 12), tail(6), tail(0);
    } else {
      out += static_cast<char>(0xf0 | p >> 18), tail(12), tail(6), tail(0);
    }
  }
  return out;
}

rc::Gen<std::string> utf8() {
  const auto point = rc::gen::oneOf(
      rc::gen::inRange<char32_t>(0, 0x80), rc::gen::inRange<char32_t>(0x80, 0x800),
      rc::gen::inRange<char32_t>(0x800, 0xd800), rc::gen::inRange<char32_t>(0xe000, 0x10000),
      rc::gen::inRange<char32_t>(0x10000, 0x110000));
  return rc::gen::map(rc::gen::container<std::vector<char32_t>>(point), utf8_of);
}

rc::Gen<std::int64_t> number() {
  return rc::gen::oneOf(
      rc::gen::inRange<std::int64_t>(-integer_max, integer_max + 1),
      rc::gen::inRange<std::int64_t>(-1000, 1001),
      rc::gen::elementOf(std::vector<std::int64_t>{integer_max, -integer_max, 0}));
}

rc::Gen<BareItem> arbitrary_bare() {
  return rc::gen::oneOf(
      rc::gen::map(number(), [](std::int64_t n) { return BareItem(n); }),
      rc::gen::map(number(), [](std::int64_t n) { return BareItem(Decimal{n}); }),
      rc::gen::map(printable(), [](std::string s) { return BareItem(std::move(s)); }),
      rc::gen::map(text_of(all(token_start), all(token_char)),
                   [](std::string s) { return BareItem(Token{std::move(s)}); }),
      rc::gen::map(rc::gen::arbitrary<std::string>(),
                   [](std::string s) { return BareItem(Bytes{std::move(s)}); }),
      rc::gen::map(rc::gen::arbitrary<bool>(), [](bool b) { return BareItem(b); }),
      rc::gen::map(number(), [](std::int64_t n) { return BareItem(Date{n}); }),
      rc::gen::map(utf8(), [](std::string s) { return BareItem(DisplayString{std::move(s)}); }));
}

template <class Entry, class Value>
rc::Gen<std::vector<Entry>> keyed(rc::Gen<Value> value) {
  return rc::gen::map(rc::gen::container<std::map<std::string, Value>>(arbitrary_key(), value),
                      [](const std::map<std::string, Value>& entries) {
                        std::vector<Entry> out;
                        for (const auto& [k, v] : entries) out.push_back({k, v});
                        std::reverse(out.begin(), out.end());
                        return out;
                      });
}

rc::Gen<Parameters> arbitrary_parameters() {
  return rc::gen::scale(0.3, keyed<Parameter>(arbitrary_bare()));
}

rc::Gen<Item> arbitrary_item() {
  const auto item = [](const auto& p) { return Item{p.first, p.second}; };
  return rc::gen::map(rc::gen::pair(arbitrary_bare(), arbitrary_parameters()), item);
}

rc::Gen<Member> arbitrary_member() {
  const auto list = [](const auto& p) { return Member(InnerList{p.first, p.second}); };
  const auto inner = rc::gen::map(
      rc::gen::pair(rc::gen::scale(0.2, rc::gen::container<std::vector<Item>>(arbitrary_item())),
                    arbitrary_parameters()),
      list);
  return rc::gen::oneOf(rc::gen::map(arbitrary_item(), [](Item i) { return Member(std::move(i)); }),
                        inner);
}

template <class Value, class Parse>
void comes_back(const Value& value, Parse parse) {
  const auto text = serialise(value);
  RC_ASSERT(text.has_value());
  const auto parsed = parse(*text);
  RC_ASSERT(parsed.has_value());
  RC_ASSERT(*parsed == value);
}

RC_GTEST_PROP(StructuredFields, AnItemComesBackFromItsText, ()) {
  comes_back(*arbitrary_item(), parse_item);
}

RC_GTEST_PROP(StructuredFields, AListComesBackFromItsText, ()) {
  comes_back(*rc::gen::scale(0.3, rc::gen::container<List>(arbitrary_member())), parse_list);
}

RC_GTEST_PROP(StructuredFields, ADictionaryComesBackFromItsText, ()) {
  comes_back(*rc::gen::scale(0.3, keyed<DictionaryMember>(arbitrary_member())), parse_dictionary);
}

// Bytes that are likely to be nearly right.
rc::Gen<std::string> hostile() {
  const std::string likely = "aZ0159*:\"\\?@%;=,. \t()-c3bf+/";
  return rc::gen::oneOf(rc::gen::container<std::string>(rc::gen::elementOf(likely)),
                        rc::gen::arbitrary<std::string>());
}

template <class Parse>
void is_canonical_after_one_round(const std::string& input, Parse parse) {
  const auto value = parse(input);
  if (!value) {
    RC_ASSERT(value.error().offset <= input.size());
    RC_ASSERT(std::string_view(value.error().what).starts_with("expected "));
    return;
  }
  const auto text = serialise(*value);
  RC_ASSERT(text.has_value());
  const auto again = parse(*text);
  RC_ASSERT(again.has_value());
  RC_ASSERT(*again == *value);
  RC_ASSERT(*serialise(*again) == *text);
}

RC_GTEST_PROP(StructuredFields, AnyBytesAreRefusedOrHaveOneCanonicalText, ()) {
  const std::string input = *hostile();
  is_canonical_after_one_round(input, parse_item);
  is_canonical_after_one_round(input, parse_list);
  is_canonical_after_one_round(input, parse_dictionary);
}

TEST(StructuredFields, ErrorsSayWhereAndWhatWasExpected) {
  const auto error = parse_list("\"a\";r=1, \"b\" ;r=2").error();
  EXPECT_EQ(error.offset, 13u);
  EXPECT_STREQ(error.what, "expected a comma or the end after a member");
  EXPECT_EQ(parse_item("\"caf\xc3\xa9\"").error().offset, 4u);
  EXPECT_EQ(parse_dictionary("a=1, B=2").error().offset, 5u);
  EXPECT_EQ(parse_list("(1 2").error().offset, 4u);
  EXPECT_EQ(serialise(Item{std::string("ab\n"), {}}).error().offset, 3u);
}

// 64 KiB each, of what would be slow in a parser that searches, recurses or starts over. That they
// come back within the test's patience is the point; what comes back is checked where it is known.
TEST(StructuredFields, HostileInputIsLinear) {
  constexpr std::size_t size = 65536;
  const auto repeated = [](const std::string& start, const std::string& part) {
    std::string out = start;
    while (out.size() + part.size() <= size) out += part;
    return out;
  };
  EXPECT_EQ(parse_item(repeated("a", ";a"))->parameters.size(), 1u);
  EXPECT_EQ(parse_dictionary(repeated("a", ",a"))->size(), 1u);
  EXPECT_EQ(parse_list(repeated("()", ",()"))->size(), 21845u);
  EXPECT_FALSE(parse_list(repeated("", "(")).has_value());
  EXPECT_FALSE(parse_list(repeated("", "( ")).has_value());
  EXPECT_FALSE(parse_list(repeated("\"", "\\\\")).has_value());
  EXPECT_FALSE(parse_list(repeated("%\"", "%f0")).has_value());
  EXPECT_FALSE(parse_list(repeated(":", "A")).has_value());
  EXPECT_FALSE(parse_list(repeated("", "\"\",")).has_value());
  std::string distinct = "a";
  for (int i = 0; distinct.size() < size; ++i) distinct += ";k" + std::to_string(i);
  EXPECT_GT(parse_item(distinct)->parameters.size(), 8000u);
}

TEST(Utf8, NoOverlongFormsNoSurrogatesNothingAboveTheLastCodePoint) {
  for (const char* good : {"", "a", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf",
                           "\xee\x80\x80", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(is_utf8(good)) << good;
  }
  for (const char* bad : {"\x80", "\xc1\xbf", "\xc2",
                          "\xc2"
                          "a",
                          "\xe0\x9f\xbf", "\xed\xa0\x80", "\xe2\x82", "\xf0\x8f\xbf\xbf",
                          "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xc2\x80\x80"}) {
    EXPECT_FALSE(is_utf8(bad)) << bad;
  }
}

}  // namespace
}  // namespace headgate::field::sf
