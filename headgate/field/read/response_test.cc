#include "headgate/field/read/response.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "headgate/base/testing/source_tree.h"
#include "headgate/field/sf/parse.h"

namespace headgate::field {
namespace {

using nlohmann::json;

// Vectors write header values with one character for each byte.
std::string bytes_of(const std::string& utf8) {
  std::string out;
  for (std::size_t i = 0; i < utf8.size(); ++i) {
    const auto c = static_cast<unsigned char>(utf8[i]);
    if (c < 0x80) {
      out += utf8[i];
    } else {
      out += static_cast<char>((c & 3) << 6 | (utf8[++i] & 0x3f));
    }
  }
  return out;
}

template <class T>
std::optional<T> optional_of(const json& j) {
  return j.is_null() ? std::nullopt : std::optional(j.get<T>());
}

Member member_of(const json& j) {
  Member m;
  m.policy = optional_of<std::string>(j.at("policy"));
  m.q = optional_of<std::uint64_t>(j.at("q"));
  m.unit = optional_of<std::string>(j.at("qu"));
  m.w = optional_of<std::uint64_t>(j.at("w"));
  m.r = optional_of<std::uint64_t>(j.at("r"));
  m.t = optional_of<std::uint64_t>(j.at("t"));
  if (!j.at("pk").is_null()) {
    const std::string text = ":" + j["pk"].get<std::string>() + ":";
    m.pk = std::get<sf::Bytes>(sf::parse_item(text)->value).bytes;
  }
  return m;
}

using Lines = std::vector<std::pair<std::string, std::string>>;

Lines lines_of(const json& section) {
  Lines lines;
  for (const json& line : section) lines.emplace_back(line.at(0), bytes_of(line.at(1)));
  return lines;
}

std::vector<HeaderLine> headers_of(const Lines& lines) {
  std::vector<HeaderLine> headers;
  for (const auto& [name, value] : lines) headers.push_back({name, value});
  return headers;
}

std::vector<std::string> names_of(const IgnoredList& ignored) {
  std::vector<std::string> names;
  for (const Ignored& field : ignored) names.push_back(field.name);
  return names;
}

TEST(Response, Vectors) {
  std::ifstream in(source_tree() / "tests/vectors/fields/parse.json");
  const json file = json::parse(in);
  int cases = 0;
  for (const json& vector : file.at("cases")) {
    ++cases;
    SCOPED_TRACE(vector.at("id").get<std::string>() + " " + vector.at("note").get<std::string>());
    const Lines headers = lines_of(vector.at("headers"));
    const Lines trailers = lines_of(vector.value("trailers", json::array()));
    const auto now = optional_of<std::int64_t>(vector.value("now", json()));
    const ResponseView view = read_response(headers_of(headers), now, headers_of(trailers));

    const json& expect = vector.at("expect");
    EXPECT_EQ(name_of(view.source), expect.at("source").get<std::string>());
    EXPECT_EQ(view.prefix.empty(), view.source == Source::none);
    std::vector<Member> members;
    for (const json& member : expect.at("members")) members.push_back(member_of(member));
    EXPECT_TRUE(view.members == members);
    EXPECT_EQ(view.retry_after, optional_of<std::uint64_t>(expect.at("retry_after")));
    EXPECT_EQ(json(names_of(view.ignored)), expect.at("ignored"));
    EXPECT_EQ(view.cached, expect.at("cached").get<bool>());
    // Each fault has a position in a line of its field.
    for (const Ignored& field : view.ignored) {
      ASSERT_LT(field.line, headers.size() + trailers.size());
      const auto& [name, value] =
          field.line < headers.size() ? headers[field.line] : trailers[field.line - headers.size()];
      EXPECT_TRUE(is_named({name, value}, field.name)) << name;
      EXPECT_LE(field.offset, value.size());
      EXPECT_TRUE(std::string_view(field.expected).starts_with("expected ")) << field.expected;
    }
  }
  EXPECT_EQ(cases, 250);
}

TEST(Response, TheLongestRetryAfterCountsInAnyOrder) {
  const HeaderLine headers[] = {{"Retry-After", "50"}, {"retry-after", "5"}};
  EXPECT_EQ(read_response(headers, {}).retry_after, 50u);
}

TEST(Response, AMalformedWaitLeavesTheOtherFieldsWait) {
  const auto wait = [](const HeaderLine(&headers)[2]) {
    const ResponseView view = read_response(headers, {});
    EXPECT_EQ(names_of(view.ignored).size(), 1u);
    return view.retry_after;
  };
  EXPECT_EQ(wait({{"Retry-After-Ms", "5000"}, {"X-MS-Retry-After-Ms", "soon"}}), 5u);
  EXPECT_EQ(wait({{"Retry-After-Ms", "soon"}, {"X-MS-Retry-After-Ms", "5000"}}), 5u);
  EXPECT_EQ(wait({{"Retry-After", "soon"}, {"Retry-After-Ms", "5000"}}), 5u);
  EXPECT_EQ(wait({{"Retry-After", "7"}, {"Retry-After-Ms", "soon"}}), 7u);
  EXPECT_EQ(wait({{"Retry-After-Ms", "5000"}, {"retry-after-ms", "soon"}}), std::nullopt);
}

TEST(Response, AFieldWithASuffixThatIsThereTwiceIsIgnored) {
  const HeaderLine headers[] = {
      {"X-RateLimit-Limit-Minute", "5"},  {"x-ratelimit-limit-minute", "7"},
      {"X-RateLimit-Limit-Minute", "9"},  {"X-RateLimit-Remaining-Minute", "4"},
      {"X-RateLimit-Reset-Minute", "30"}, {"X-RateLimit-Reset-Minute", "30"}};
  const ResponseView view = read_response(headers, {});
  ASSERT_EQ(view.members.size(), 1u);
  EXPECT_EQ(view.members[0].q, std::nullopt);
  EXPECT_EQ(view.members[0].r, 4u);
  EXPECT_EQ(view.members[0].t, std::nullopt);
  EXPECT_EQ(names_of(view.ignored),
            (std::vector<std::string>{"x-ratelimit-limit-minute", "x-ratelimit-reset-minute"}));
  EXPECT_EQ(view.ignored[0].line, 1u);
}

// Each member could be held against each policy; 64 KiB of both must not take that long.
TEST(Response, JoiningIsNotQuadratic) {
  std::string limits = "\"x\";r=0";
  std::string policies = "\"x\";q=0";
  for (int i = 0; limits.size() < 65536; ++i) {
    limits += ",\"a\";r=1;pk=:" + std::to_string(10000 + i).substr(0, 4) + ":";
    policies += ",\"a\";q=1;pk=:" + std::to_string(99999 - i).substr(0, 4) + ":";
  }
  const HeaderLine headers[] = {{"RateLimit", limits}, {"RateLimit-Policy", policies}};
  const ResponseView view = read_response(headers, {});
  EXPECT_EQ(view.source, Source::ratelimit);
  EXPECT_GT(view.members.size(), 3000u);
}

}  // namespace
}  // namespace headgate::field
