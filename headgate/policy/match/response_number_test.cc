#include "headgate/policy/match/response_number.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace headgate::policy {
namespace {

using Found = std::optional<std::uint64_t>;

// Reads the body whole, in two parts at every border, and byte by byte; all have to agree.
Found number(std::string_view body, std::string_view path = "usage.total_tokens") {
  ResponseNumber whole(path);
  whole.read(body);
  ResponseNumber bytes(path);
  for (std::size_t i = 0; i < body.size(); ++i) bytes.read(body.substr(i, 1));
  EXPECT_EQ(bytes.number(), whole.number()) << body;
  for (std::size_t i = 0; i < body.size(); ++i) {
    ResponseNumber parts(path);
    parts.read(body.substr(0, i));
    parts.read(body.substr(i));
    EXPECT_EQ(parts.number(), whole.number()) << body << " at " << i;
  }
  return whole.number();
}

TEST(ResponseNumber, IsFoundInJson) {
  EXPECT_EQ(number(R"({"id":"x","choices":[{"message":{"content":"Hi"}}],)"
                   R"("usage":{"prompt_tokens":12,"completion_tokens":300,"total_tokens":312}})"),
            312u);
  EXPECT_EQ(number("\xef\xbb\xbf\r\n { \"usage\" : { \"total_tokens\" : 7 } } \n"), 7u);
  EXPECT_EQ(number(R"({"tokens":5})", "tokens"), 5u);
  EXPECT_EQ(number(R"({"a":{"b":{"c":{"d":{"e":{"f":{"g":{"h":8}}}}}}}})", "a.b.c.d.e.f.g.h"), 8u);
  EXPECT_EQ(number(R"({"usage":{"total_tokens":0}})"), 0u);
  EXPECT_EQ(number(R"({"usage":{"total_tokens":99999999999999999999999}})"), 1'000'000'000'000'000u)
      << "as much as no quota admits";
}

TEST(ResponseNumber, IsThatOfThePathAlone) {
  const char* const bodies[] = {R"({"total_tokens":1})",
                                R"([[{"usage":{"total_tokens":1}}]])",
                                R"(["usage",{"total_tokens":1}])",
                                R"(["usage",[{"total_tokens":1}],"total_tokens",1])",
                                R"([{"x":{"usage":{"total_tokens":1}}}])",
                                R"([{"x":[{"usage":{"total_tokens":1}}]}])",
                                R"({"usage":[{"total_tokens":1}]})",
                                R"({"other":{"total_tokens":1}})",
                                R"({"x":{"usage":{"total_tokens":1}}})",
                                R"({"usage":{"x":{"total_tokens":1}}})",
                                R"({"usage":{"total_tokens":{"x":1}}})",
                                R"({"usage":{"total_tokens":[1]}})",
                                R"({"usage":{"total_token":1,"total_tokens2":2,"":3}})",
                                R"({"usage":"total_tokens","x":1})",
                                R"({"a":"usage","b":{"total_tokens":1}})",
                                R"({"usage":1,"x":{"total_tokens":1}})",
                                R"({"usage":{"a":{"b":{}},"total":1}})",
                                R"({"usage.total_tokens":1})"};
  for (const char* const body : bodies) EXPECT_EQ(number(body), std::nullopt) << body;
  EXPECT_EQ(number(R"({"usage":{"x":{"usage":{"total_tokens":1}},"total_tokens":2}})"), 2u);
  EXPECT_EQ(number(R"({"x":"{\"usage\":{\"total_tokens\":1}}","usage":{"total_tokens":2}})"), 2u)
      << "texts with JSON in them are texts";
  EXPECT_EQ(number(R"({"x":"\\","usage":{"y":"\"","total_tokens":2}})"), 2u);
}

TEST(ResponseNumber, IsAWholeNumberInDigits) {
  for (const char* const value :
       {"\"312\"", "312.0", "3e2", "-312", "null", "true", "{}", "[]", "\"\"", "12a"}) {
    EXPECT_EQ(number("{\"usage\":{\"total_tokens\":" + std::string(value) + "}}"), std::nullopt)
        << value;
  }
}

TEST(ResponseNumber, TheLastOneCounts) {
  EXPECT_EQ(number(R"({"usage":{"total_tokens":1,"total_tokens":2},"usage":{"total_tokens":3}})"),
            3u);
  EXPECT_EQ(number("{\"usage\":{\"total_tokens\":1}}\n{\"usage\":{\"total_tokens\":2}}\n{\"a\":1}"),
            2u)
      << "one JSON text after the other";
  EXPECT_EQ(number(R"({"usage":{"total_tokens":1}}{"usage":null})"), 1u);
}

TEST(ResponseNumber, IsFoundInTheLastEventThatHasIt) {
  const std::string begin =
      "data: {\"choices\":[{\"delta\":{\"content\":\"data: \"}}],\"usage\":null}";
  const std::string last = "data: {\"choices\":[],\"usage\":{\"total_tokens\":312}}";
  for (const std::string end : {"\n", "\r\n", "\r"}) {
    EXPECT_EQ(number(begin + end + end + begin + end + end + last + end + end + "data: [DONE]" +
                     end + end),
              312u)
        << end.size();
    EXPECT_EQ(number(": a comment" + end + "event: message_delta" + end + "id: 7" + end +
                     "data:{\"usage\":" + end + "data: {\"total_tokens\":" + end + "data:  5}}" +
                     end + end + "retry: 1" + end + end),
              5u)
        << "an event of several lines";
    EXPECT_EQ(number("data: {\"usage\":" + end + end + "data: {\"total_tokens\":1}}" + end + end),
              std::nullopt)
        << "two events are not one text";
    EXPECT_EQ(number("data: }{" + end + end + last + end + end), 312u)
        << "a malformed event does not spoil the next one";
    EXPECT_EQ(number("dat: {\"usage\":{\"total_tokens\":1}}" + end + end + "datas: 1" + end + end +
                     " " + last + end + end),
              std::nullopt);
  }
  EXPECT_EQ(number(last), 312u) << "the response ended after it";
}

TEST(ResponseNumber, IsFoundInTheLastElementThatHasIt) {
  const std::string list =
      R"([{"candidates":[{"content":{"parts":[{"text":"["}]}}],"usage":{"total_tokens":9}},)"
      "\n"
      R"({"candidates":[{}],"usage":{"x":[{"total_tokens":1}],"total_tokens":40}})"
      "\r\n,\r\n"
      R"({"usage":{"total_tokens":312}},{"candidates":[]},null,7,"usage",[{"total_tokens":5}])";
  EXPECT_EQ(number(list), 312u) << "the response ended before the list";
  EXPECT_EQ(number(list + "]\n"), 312u);
  EXPECT_EQ(number(list + "]" + list + R"(,{"usage":{"total_tokens":313}}])"), 313u);
  EXPECT_EQ(number(list + R"(] {"usage":{"total_tokens":314}})"), 314u);
  EXPECT_EQ(number(R"([{"tokens":4},{"tokens":5}])", "tokens"), 5u);
  EXPECT_EQ(number(R"([[],{},{"usage":{}},{"usage":{"total_tokens":6}}])"), 6u);
  EXPECT_EQ(number("data: " + list.substr(0, list.find('\n')) + "{}]\n\ndata: []\n\n"), 9u);
  EXPECT_EQ(number(R"([{"usage":{"total_tokens":1}},},{"usage":{"total_tokens":2}}])"), 1u)
      << "nothing after a fault";
}

TEST(ResponseNumber, IsNotThatOfACutText) {
  const std::string body = R"({"usage":{"total_tokens":312}})";
  for (std::size_t size = 0; size < body.size(); ++size) {
    EXPECT_EQ(number(body.substr(0, size)), size < body.find('}') + 1 ? Found() : Found(312));
  }
}

TEST(ResponseNumber, NothingIsFoundAfterAFault) {
  for (const char* const fault :
       {"{,", "{\"a\" 1,", "{\"a\":1 2,", "{\"a\":}", "{]", "{\"a\":[1,],", "{\"a\":[}", "{1:2,",
        "{\"a\":1,}", "{\"a\":\"b\"\"c\","}) {
    EXPECT_EQ(number(std::string(fault) + R"("usage":{"total_tokens":1}})"), std::nullopt) << fault;
  }
}

TEST(ResponseNumber, IsFoundBehindTextsOfBoundedDepth) {
  for (const int depth : {63, 64}) {
    const std::string deep = std::string(static_cast<std::size_t>(depth), '[') +
                             std::string(static_cast<std::size_t>(depth), ']');
    EXPECT_EQ(number("{\"x\":" + deep + ",\"usage\":{\"total_tokens\":1}}"),
              depth < 64 ? Found(1) : Found());
    const std::string list = "[{\"x\":" + deep.substr(1, deep.size() - 2);
    EXPECT_EQ(number(list + ",\"usage\":{\"total_tokens\":1}}]"), depth < 64 ? Found(1) : Found());
  }
}

// A random JSON value with many names of the path.
nlohmann::json any_value(std::mt19937& random, int depth) {
  const char* const names[] = {"usage", "total_tokens", "x", "usage.total_tokens", "\"", "us"};
  switch (random() % (depth > 4 ? 4 : 6)) {
    case 0:
      return random() % 1000;
    case 1:
      return nullptr;
    case 2:
      return names[random() % std::size(names)];
    case 3:
      return 1.5;
    case 4: {
      auto list = nlohmann::json::array();
      for (std::size_t i = random() % 3; i > 0; --i) list.push_back(any_value(random, depth + 1));
      return list;
    }
    default: {
      auto object = nlohmann::json::object();
      for (std::size_t i = random() % 5; i > 0; --i) {
        object[names[random() % std::size(names)]] = any_value(random, depth + 1);
      }
      return object;
    }
  }
}

TEST(ResponseNumber, AgreesWithAParser) {
  std::mt19937 random(3);
  int found = 0;
  for (int i = 0; i < 3000; ++i) {
    auto value = nlohmann::json::object();
    for (std::size_t members = random() % 6; members > 0; --members) {
      value["usage"][random() % 2 == 0 ? "total_tokens" : "x"] = any_value(random, 1);
    }
    value["z"] = any_value(random, 0);
    const auto& usage = value["usage"];
    Found expected;
    if (usage.is_object() && usage.contains("total_tokens") &&
        usage["total_tokens"].is_number_unsigned()) {
      expected = usage["total_tokens"].get<std::uint64_t>();
      ++found;
    }
    const std::string text = value.dump(i % 2 == 0 ? -1 : 1);
    ResponseNumber reader("usage.total_tokens");
    const std::size_t middle = random() % (text.size() + 1);
    reader.read(std::string_view(text).substr(0, middle));
    reader.read(std::string_view(text).substr(middle));
    EXPECT_EQ(reader.number(), expected) << text;
    for (const char* const element : {"", "{\"usage\":[]},", "[{\"usage\":"}) {
      const bool is_nested = element[0] == '[';
      ResponseNumber list("usage.total_tokens");
      list.read('[' + std::string(element) + text + (is_nested ? "}]]" : ",1]"));
      EXPECT_EQ(list.number(), is_nested ? Found() : expected) << element << text;
    }
  }
  EXPECT_GT(found, 100);
}

}  // namespace
}  // namespace headgate::policy
