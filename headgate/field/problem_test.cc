#include "headgate/field/problem.h"

#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "headgate/base/testing/source_tree.h"
#include "headgate/field/retry_after.h"

namespace headgate::field {
namespace {

using nlohmann::json;

std::string document(Problem problem, unsigned status, std::span<const std::string_view> names) {
  std::array<char, 4000> room{};
  Writer out(room);
  EXPECT_TRUE(write_problem(out, problem, status, names));
  return std::string(out.text());
}

TEST(Problem, Vectors) {
  const std::map<std::string, Problem> kinds = {
      {"quota-exceeded", Problem::quota_exceeded},
      {"temporary-reduced-capacity", Problem::temporary_reduced_capacity},
      {"abnormal-usage-detected", Problem::abnormal_usage_detected}};
  std::ifstream in(source_tree() / "tests/vectors/fields/problem.json");
  const json file = json::parse(in);
  int ran = 0;
  for (const json& vector : file.at("cases")) {
    SCOPED_TRACE(vector.at("id").get<std::string>() + " " + vector.at("note").get<std::string>());
    const json& input = vector.at("input");
    const json& expect = vector.at("expect");
    const auto names = input.at("violated").get<std::vector<std::string>>();
    const std::vector<std::string_view> views(names.begin(), names.end());
    json headers = {{"Content-Type", problem_media_type}};
    if (!input.at("retry_after").is_null()) {
      std::array<char, 20> room{};
      Writer out(room);
      EXPECT_TRUE(write_retry_after(out, input["retry_after"]));
      headers = json::array({{"Content-Type", problem_media_type}, {retry_after_name, out.text()}});
    } else {
      headers = json::array({json::array({"Content-Type", problem_media_type})});
    }
    EXPECT_EQ(headers, expect.at("headers"));
    const json body = json::parse(document(kinds.at(input.at("kind")), input.at("status"), views));
    EXPECT_EQ(body, expect.at("body"));
    EXPECT_EQ(body.at("status"), expect.at("status"));
    ++ran;
  }
  EXPECT_EQ(ran, 7);
}

TEST(Problem, AnyByteMayBeInAName) {
  std::string name;
  std::string expected;  // each byte as the code point of its value, in UTF-8
  for (int c = 0; c < 256; ++c) {
    name += static_cast<char>(c);
    if (c < 0x80) {
      expected += static_cast<char>(c);
    } else {
      expected += static_cast<char>(0xc0 | c >> 6);
      expected += static_cast<char>(0x80 | (c & 0x3f));
    }
  }
  const std::string_view names[] = {name};
  const std::string text = document(Problem::quota_exceeded, 429, names);
  for (const char c : text) EXPECT_TRUE(c >= 0x20 && c <= 0x7e);
  EXPECT_EQ(json::parse(text).at("violated-policies").at(0), expected);
}

TEST(Problem, WritesTheDocumentWholeOrNotAtAll) {
  const std::string_view names[] = {"a", "b\n"};
  const std::string whole = document(Problem::abnormal_usage_detected, 429, names);
  std::array<char, 400> room{};
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    Writer out{std::span(room).first(size)};
    const bool fits = write_problem(out, Problem::abnormal_usage_detected, 429, names);
    EXPECT_EQ(fits, size == whole.size());
    EXPECT_EQ(out.text(), fits ? whole : "");
  }
}

}  // namespace
}  // namespace headgate::field
