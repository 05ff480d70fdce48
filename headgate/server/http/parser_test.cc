#include "headgate/server/http/parser.h"

#include <gmock/gmock.h>
#include <rapidcheck.h>

#include <string>
#include <vector>

namespace headgate::server {
namespace {

using State = HttpParser::State;
using ::testing::HasSubstr;

// Parses a whole text to its end, past the stop at the end of its head.
State parse(HttpParser& parser, std::string_view text) {
  const State state = parser.parse(text);
  return state == State::body ? parser.parse(text) : state;
}

TEST(HttpParserTest, ARequestIsSplitIntoItsParts) {
  HttpParser parser;
  const std::string_view text =
      "POST /v1/decide?a=b HTTP/1.1\r\nHost: h\r\nX-Key:  me \r\nx-KEY: you\r\n"
      "Content-Length: 4\r\n\r\nbodyGET";
  ASSERT_EQ(parse(parser, text), State::done);
  const HttpRequest& request = parser.request();
  EXPECT_EQ(request.method(), "POST");
  EXPECT_EQ(request.path(), "/v1/decide");
  EXPECT_EQ(request.query(), "a=b");
  EXPECT_EQ(request.body(), "body");
  EXPECT_EQ(request.line("x-key", 0), "me");
  EXPECT_EQ(request.line("x-key", 1), "you");
  EXPECT_EQ(request.line("x-key", 2), std::nullopt);
  EXPECT_EQ(parser.size(), text.size() - 3);
  EXPECT_TRUE(parser.keeps_alive());
}

TEST(HttpParserTest, AnAbsoluteTargetIsItsPath) {
  for (const char* target : {"http://h/auth?x", "https://h:80/auth?x", "/auth?x"}) {
    HttpParser parser;
    const std::string text = "GET " + std::string(target) + " HTTP/1.1\r\nHost: h\r\n\r\n";
    ASSERT_EQ(parse(parser, text), State::done) << target;
    EXPECT_EQ(parser.request().path(), "/auth");
    EXPECT_EQ(parser.request().query(), "x");
  }
}

TEST(HttpParserTest, AnAbsoluteTargetWithoutAPathIsThatOfTheRoot) {
  const struct {
    const char* target;
    const char* query;
  } cases[] = {{"http://h", ""}, {"https://h:80", ""}, {"http://h?", ""}, {"http://h?x=/", "x=/"}};
  for (const auto& c : cases) {
    HttpParser parser;
    const std::string text = "GET " + std::string(c.target) + " HTTP/1.1\r\nHost: h\r\n\r\n";
    ASSERT_EQ(parse(parser, text), State::done) << c.target;
    EXPECT_EQ(parser.request().path(), "/") << c.target;
    EXPECT_EQ(parser.request().query(), c.query) << c.target;
  }
}

TEST(HttpParserTest, KeepsAliveAsTheVersionSays) {
  const struct {
    const char* text;
    bool keeps;
  } cases[] = {
      {"GET / HTTP/1.1\r\nHost: h\r\n\r\n", true},
      {"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", false},
      {"GET / HTTP/1.0\r\n\r\n", false},
      {"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", true},
  };
  for (const auto& c : cases) {
    HttpParser parser;
    ASSERT_EQ(parse(parser, c.text), State::done) << c.text;
    EXPECT_EQ(parser.keeps_alive(), c.keeps) << c.text;
  }
}

TEST(HttpParserTest, TrailersAreNoFields) {
  HttpParser parser;
  ASSERT_EQ(parse(parser,
                  "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
                  "3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nX-Key: me\r\n\r\n"),
            State::done);
  EXPECT_EQ(parser.request().body(), "abcde");
  EXPECT_EQ(parser.request().line("x-key", 0), std::nullopt);
}

TEST(HttpParserTest, WhatCanBeReadInTwoWaysIsRefused) {
  const std::string head = "POST / HTTP/1.1\r\nHost: h\r\n";
  const struct {
    std::string text;
    unsigned status;
  } cases[] = {
      {"\x16\x03\x01 hello\r\n\r\n", 400},
      {"GET  / HTTP/1.1\r\n\r\n", 400},
      {"GET / HTTP/1.1\nHost: h\n\n", 400},
      {"GET / HTTP/2.0\r\nHost: h\r\n\r\n", 505},
      {"GET / HTTP/1.1\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400},
      {head + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab", 400},
      {head + "Content-Length: 2\r\nContent-Length: 2\r\n\r\nab", 400},
      {head + "Content-Length: 2, 2\r\n\r\nab", 400},
      {head + "Content-Length: -1\r\n\r\n", 400},
      {head + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
      {head + "Transfer-Encoding: gzip\r\n\r\n", 501},
      {head + "Transfer-Encoding: chunked, gzip\r\n\r\n", 501},
      {head + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501},
      {head + "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 501},
      {head + "Transfer-Encoding: identity, chunked\r\n\r\n0\r\n\r\n", 501},
      {head + "Transfer-Encoding: , chunked\r\n\r\n0\r\n\r\n", 501},
      {"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
      {head + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n", 400},
      {head + "X-Key: a\r\n b\r\n\r\n", 400},
      {head + "X-Key: a\r\n\tb\r\n\r\n", 400},
      {head + "X-Key:\r\n b\r\n\r\n", 400},
      {head + "X-Key:\r\n \r\n\r\n", 400},
      {head + "X-Key: a\r\n \r\n\r\n", 400},
      {"GET / HTTP/1.1\r\n X-Key: a\r\nHost: h\r\n\r\n", 400},
      {head + "X Key: a\r\n\r\n", 400},
      {head + "X-Key: a\x01\r\n\r\n", 400},
      {head + "Expect: the-spanish-inquisition\r\n\r\n", 417},
  };
  for (const auto& c : cases) {
    HttpParser parser;
    EXPECT_EQ(parse(parser, c.text), State::fault) << c.text;
    EXPECT_EQ(parser.fault().status, c.status) << c.text;
  }
}

TEST(HttpParserTest, EverythingHasAMaximum) {
  const std::string head = "POST / HTTP/1.1\r\nHost: h\r\n";
  const auto padded = [&](std::size_t size) {
    std::string text = head + "X: ";
    text.append(size - text.size() - 4, 'x');
    return text + "\r\n\r\n";
  };
  const auto fields = [&](std::size_t count) {
    std::string text = head;
    for (std::size_t i = 1; i < count; ++i) text += "X: x\r\n";
    return text + "\r\n";
  };
  const auto announced = [&](std::size_t bytes) {
    return head + "Content-Length: " + std::to_string(bytes) + "\r\n\r\n";
  };
  const struct {
    std::string text;
    State state;
    unsigned status;
  } cases[] = {
      {padded(HttpParser::head_max), State::done, 0},
      {padded(HttpParser::head_max + 1), State::fault, 431},
      {std::string(HttpParser::head_max - 1, 'G'), State::head, 0},
      {std::string(HttpParser::head_max, 'G'), State::fault, 431},
      {fields(HttpRequest::fields_max), State::done, 0},
      {fields(HttpRequest::fields_max + 1), State::fault, 431},
      {announced(HttpParser::body_max), State::body, 0},
      {announced(HttpParser::body_max + 1), State::fault, 413},
      {announced(99999999999999999), State::fault, 413},
      {head + "Transfer-Encoding: chunked\r\n\r\nffffffffffffff\r\n", State::fault, 413},
      {head + "Transfer-Encoding: chunked\r\n\r\n1;" + std::string(HttpParser::request_max, 'x'),
       State::fault, 413},
  };
  for (const auto& c : cases) {
    HttpParser parser;
    EXPECT_EQ(parse(parser, c.text), c.state) << c.text.substr(0, 60);
    EXPECT_EQ(parser.fault().status, c.state == State::fault ? c.status : 400u)
        << c.text.substr(0, 60);
  }
}

// In pieces of any size, at changing addresses.
TEST(HttpParserTest, PiecesMakeNoDifference) {
  const std::vector<std::string> texts = {
      "GET /auth HTTP/1.1\r\nHost: h\r\nX-Forwarded-Uri: /a\r\n\r\n",
      "POST /v1/decide HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\n\r\nhello world",
      "POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;a=b\r\n "
      "world\r\n0\r\nX: y\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
  };
  rc::check([&] {
    const std::string text = *rc::gen::elementOf(texts);
    HttpParser whole;
    const State expected = parse(whole, text);
    HttpParser parser;
    State state = State::head;
    for (std::size_t end = 0; end < text.size();) {
      end += *rc::gen::inRange<std::size_t>(1, text.size() - end + 1);
      const std::string copy = text.substr(0, end);
      state = parse(parser, copy);
      if (state == State::fault) break;
      if (state != State::done) continue;
      RC_ASSERT(end == text.size());
      RC_ASSERT(parser.request().method() == text.substr(0, text.find(' ')));
      RC_ASSERT(parser.request().line("host", 0) == "h");
      RC_ASSERT(parser.request().body() == std::string(whole.request().body()));
      RC_ASSERT(parser.size() == text.size());
    }
    RC_ASSERT(state == expected);
  });
}

TEST(HttpParserTest, NothingOfARequestIsLeftForTheNext) {
  HttpParser parser;
  ASSERT_EQ(parse(parser, "POST /a?b HTTP/1.0\r\nHost: h\r\nTransfer-Encoding: x\r\n\r\n"),
            State::fault);
  parser.reset();
  ASSERT_EQ(parse(parser,
                  "POST /?c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n"
                  "Expect: 100-continue\r\n\r\n1\r\na\r\n0\r\n\r\n"),
            State::done);
  parser.reset();
  ASSERT_EQ(parse(parser, "GET / HTTP/1.1\r\nHost: h\r\n\r\n"), State::done);
  EXPECT_EQ(parser.request().query(), "");
  EXPECT_EQ(parser.request().body(), "");
  EXPECT_EQ(parser.request().line("expect", 0), std::nullopt);
  EXPECT_FALSE(parser.awaits_continue());
}

}  // namespace
}  // namespace headgate::server
