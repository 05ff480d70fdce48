// What JsonScanner accepts, refuses and returns, and where it says that a text is at fault.
#include "headgate/base/json_scanner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "headgate/base/json_text.h"
#include "headgate/base/utf8.h"

namespace headgate {
namespace {

using Strings = JsonScanner::Strings;

// Reads any value, nested ones with a stack of its own instead of recursion. Returns what it
// contains as text: names, strings, numbers and words, each with a space behind it.
std::string contents(JsonScanner& in, std::string_view text) {
  std::string out;
  const auto add = [&](std::optional<std::string_view> part) {
    if (part) out.append(*part).append(" ");
  };
  std::string closing;  // of the open brackets
  do {
    if (!closing.empty()) {
      if (!in.more(closing.back())) {
        closing.pop_back();
        continue;
      }
      if (closing.back() == '}') add(in.name());
    }
    if (in.sees('{') || in.sees('[')) {
      const char bracket = text[in.at()];
      in.open(bracket);
      closing.push_back(bracket == '{' ? '}' : ']');
    } else if (in.sees('"')) {
      add(in.string());
    } else if (in.sees('t') || in.sees('f') || in.sees('n')) {
      add(in.word());
    } else {
      add(in.number());
    }
  } while (!closing.empty() && !in.fault());
  in.end();
  return out;
}

struct Read {
  std::string contents;
  std::optional<JsonScanner::Fault> fault;
};

Read read(std::string_view text, Strings strings = Strings::strict) {
  std::string buffer;
  buffer.reserve(text.size());
  const char* const memory = buffer.data();
  JsonScanner in(text, buffer, strings);
  Read result{contents(in, text), {}};
  result.fault = in.fault();
  EXPECT_EQ(buffer.data(), memory) << "the text's size is room enough: " << text;
  return result;
}

std::string string_of(std::string_view text, Strings strings = Strings::strict) {
  const Read result = read(text, strings);
  if (result.fault) return "fault";
  return result.contents.substr(0, result.contents.size() - 1);
}

void expect_fault(std::string_view text, std::size_t at, std::string_view expected) {
  const Read result = read(text);
  ASSERT_TRUE(result.fault) << text;
  EXPECT_EQ(result.fault->at, at) << text;
  EXPECT_EQ(result.fault->expected, expected) << text;
}

constexpr std::string_view document =
    R"( {"a" : [1, -2.5e+3, "x\u00e9\ud83d\ude00\n"], "b":{"c":[ ],"d":{}}, ")"
    "\xc3\xa9"
    R"(":true } )";

TEST(JsonScanner, ReadsAWholeDocument) {
  const Read result = read(document);
  EXPECT_FALSE(result.fault);
  EXPECT_EQ(result.contents, "a 1 -2.5e+3 x\xc3\xa9\xf0\x9f\x98\x80\n b c d \xc3\xa9 true ");
}

TEST(JsonScanner, RefusesADocumentThatIsCutAtAnyByte) {
  const std::size_t last = document.rfind('}');
  for (std::size_t size = 0; size <= last; ++size) {
    for (const Strings strings : {Strings::strict, Strings::any_bytes}) {
      const std::string cut(document.substr(0, size));  // so that sanitizers see its end
      const Read result = read(cut, strings);
      ASSERT_TRUE(result.fault) << cut;
      EXPECT_LE(result.fault->at, size) << cut;
    }
  }
}

TEST(JsonScanner, SaysWhereATextIsAtFault) {
  expect_fault("", 0, "a number");
  expect_fault("{", 1, "a member's name in quotes");
  expect_fault("{1:2}", 1, "a member's name in quotes");
  expect_fault(R"({"a" 1})", 5, "':'");
  expect_fault(R"({"a":1 "b":2})", 7, "',' or '}'");
  expect_fault("[1 2]", 3, "',' or ']'");
  expect_fault("[1,]", 3, "a number");
  expect_fault("[1]]", 3, "nothing more");
  expect_fault("\"a", 2, "the string's closing quote");
  expect_fault("\"a\nb\"", 2, "an escaped control character");
  expect_fault("\"a\xff\"", 2, "UTF-8");
  expect_fault("\"\xc3\"", 2, "UTF-8");
  expect_fault("\"\xc3\\n\"", 2, "UTF-8");
  expect_fault("\"\xed\xa0\x80\"", 2, "UTF-8");  // a surrogate
  expect_fault(R"("a\x")", 2, "an escape of JSON");
  expect_fault(R"("a\)", 2, "an escape of JSON");
  expect_fault(R"("a\u12g4")", 2, "an escape of JSON");
}

TEST(JsonScanner, KeepsTheFirstFault) {
  std::string buffer;
  JsonScanner in("[1", buffer);
  EXPECT_FALSE(in.open('{'));
  in.fail(1, "another");
  EXPECT_FALSE(in.open('['));
  EXPECT_FALSE(in.more(']'));
  EXPECT_FALSE(in.string());
  EXPECT_FALSE(in.name());
  EXPECT_FALSE(in.number());
  EXPECT_FALSE(in.word());
  EXPECT_FALSE(in.skip());
  EXPECT_FALSE(in.end());
  EXPECT_EQ(in.fault()->at, 0u);
  EXPECT_EQ(in.fault()->expected, "an object");
}

TEST(JsonScanner, ReplacesEscapes) {
  EXPECT_EQ(string_of(R"("\"\\\/\b\f\n\r\t")"), "\"\\/\b\f\n\r\t");
  EXPECT_EQ(string_of(R"("\u0041\u00E9\u20ac\uFFFF")"), "A\xc3\xa9\xe2\x82\xac\xef\xbf\xbf");
  EXPECT_EQ(string_of(R"("a\u0000b")"), std::string("a\0b", 3));
  EXPECT_EQ(string_of(R"("plain \u0041 plain \u0042 plain")"), "plain A plain B plain");
}

TEST(JsonScanner, CombinesPairsOfSurrogates) {
  EXPECT_EQ(string_of(R"("\ud800\udc00")"), "\xf0\x90\x80\x80");  // U+10000
  EXPECT_EQ(string_of(R"("\uDBFF\uDFFF")"), "\xf4\x8f\xbf\xbf");  // U+10FFFF
  const char* const single[] = {R"("\ud800")",       R"("\udc00")",       R"("\ud800x")",
                                R"("\ud800\n")",     R"("\ud800\u0041")", R"("\udc00\ud800")",
                                R"("\ud800\ud800")", R"("\ud800\u00")",   R"("\ud800\u")"};
  for (const char* const text : single) EXPECT_EQ(string_of(text), "fault") << text;
}

TEST(JsonScanner, CopiesAnyBytesIfTheCallerAllowsIt) {
  const auto lenient = [](std::string_view text) { return string_of(text, Strings::any_bytes); };
  EXPECT_EQ(lenient("\"\xff\x01\t\""), "\xff\x01\t");
  EXPECT_EQ(lenient("\"\xc3\\n\""), "\xc3\n");
  EXPECT_EQ(lenient(R"("\ud800")"), "\xed\xa0\x80");
  EXPECT_EQ(lenient(R"("\udc00x")"), "\xed\xb0\x80x");
  EXPECT_EQ(lenient(R"("\ud800\u0041")"),
            "\xed\xa0\x80"
            "A");
  EXPECT_EQ(lenient(R"("\ud800\ud83d\ude00")"), "\xed\xa0\x80\xf0\x9f\x98\x80");
  EXPECT_EQ(lenient(R"("\ud83d\ude00")"), "\xf0\x9f\x98\x80");
  EXPECT_EQ(lenient(R"("\x")"), "fault");
  EXPECT_EQ(lenient(R"("\ud800\u00")"), "fault");
}

TEST(JsonScanner, ReturnsAStringWithoutEscapesInPlace) {
  const std::string_view text = R"(["plain","esc\u0061ped"])";
  std::string buffer = "before";
  buffer.reserve(buffer.size() + text.size());
  JsonScanner in(text, buffer);
  in.open('[');
  in.more(']');
  const auto plain = in.string();
  EXPECT_EQ(plain, "plain");
  EXPECT_EQ(plain->data(), text.data() + 2);
  EXPECT_EQ(in.last(), 1u);
  in.more(']');
  EXPECT_EQ(in.string(), "escaped");
  EXPECT_EQ(buffer, "beforeescaped");
  EXPECT_FALSE(in.more(']'));
  EXPECT_TRUE(in.end());
}

TEST(JsonScanner, ReadsNumbersByTheGrammar) {
  for (const char* const good : {"0", "-0", "7", "10", "1.5", "0.0", "1e3", "1E-3", "-1.5e+10",
                                 "99999999999999999999999999999999999999"}) {
    EXPECT_EQ(string_of(good), good);
  }
  for (const char* const bad : {"", "-", "+1", ".5", "1.", "01", "-01", "1e", "1e+", "0x1", "1.5.5",
                                "Infinity", "1 2", "--1"}) {
    EXPECT_EQ(string_of(bad), "fault") << bad;
  }
}

TEST(JsonScanner, ReturnsAWordWhateverItsBytes) {
  const std::string_view text = "[null , 009,\xff,-]";
  std::string buffer;
  JsonScanner in(text, buffer);
  std::vector<std::string> words;
  in.open('[');
  while (in.more(']')) words.emplace_back(*in.word());
  EXPECT_TRUE(in.end());
  EXPECT_EQ(words, (std::vector<std::string>{"null", "009", "\xff", "-"}));
}

TEST(JsonScanner, SkipsNestedValues) {
  const std::string_view text = R"({"a":[1,{"]":"}\"]"},"\\"],"b":2})";
  std::string buffer;
  JsonScanner in(text, buffer);
  in.open('{');
  in.more('}');
  in.name();
  EXPECT_TRUE(in.skip());
  EXPECT_TRUE(in.more('}'));
  EXPECT_EQ(in.name(), "b");
  EXPECT_FALSE(in.skip()) << "a number is not nested";
  EXPECT_EQ(in.fault()->expected, "an object or a list");
}

TEST(JsonScanner, SkipsAnyDepthInConstantMemory) {
  constexpr std::size_t depth = 1'000'000;
  std::string text(depth, '[');
  const auto skip = [&] {
    std::string buffer;
    JsonScanner in(text, buffer);
    const bool skipped = in.skip() && in.end();
    EXPECT_EQ(buffer.capacity(), std::string().capacity());
    return skipped;
  };
  EXPECT_FALSE(skip());
  text.append(depth - 1, ']');
  EXPECT_FALSE(skip());
  text += ']';
  EXPECT_TRUE(skip());
}

TEST(JsonScanner, ReturnsWhatAppendJsonWrites) {
  std::string all;
  for (int c = 0; c < 0x80; ++c) all += static_cast<char>(c);
  all += "\xc3\xa9\xf4\x8f\xbf\xbf";
  std::string text;
  append_json(text, std::string_view(all));
  EXPECT_EQ(string_of(text), all);
}

TEST(JsonText, SpansBeyond64BitsAreWhole) {
  const auto text = [](Nanos span) {
    std::string out;
    append_json(out, span);
    return out;
  };
  constexpr Nanos e18 = 1'000'000'000'000'000'000;
  EXPECT_EQ(text(0), "0");
  EXPECT_EQ(text(e18 - 1), "999999999999999999");
  EXPECT_EQ(text(e18), "1000000000000000000");
  EXPECT_EQ(text(e18 * 1000 + 7), "1000000000000000000007");
  EXPECT_EQ(text(i128_max), "170141183460469231731687303715884105727");
}

TEST(JsonText, ReplacesBytesThatAreNotUtf8) {
  std::string out;
  append_json(out, std::string_view("a\xff\x01\"\\"));
  EXPECT_EQ(out, R"("a\ufffd\u0001\"\\")");
}

TEST(JsonText, WritesAnyBytesInAscii) {
  char room[64];
  Writer out(room);
  write_json_bytes(out, "a\"\\\x1f\x7f\xe9");
  EXPECT_EQ(out.text(), R"("a\"\\\u001f\u007f\u00e9")");
}

}  // namespace
}  // namespace headgate
