// Reading takes linear time for any input: twice the input takes about twice the steps, while a
// quadratic algorithm would take four times as many.
#include "headgate/field/testing/steps.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "headgate/field/read/response.h"

namespace headgate::field {
namespace {

constexpr std::size_t size_max = 65'536;  // large enough for steps of setting up not to count

// A header section of about `size` bytes.
struct Section {
  std::vector<std::pair<std::string, std::string>> lines;

  void add(std::string name, std::string value) {
    lines.emplace_back(std::move(name), std::move(value));
  }

  [[nodiscard]] std::size_t steps_to_read() const {
    std::vector<HeaderLine> headers;
    for (const auto& [name, value] : lines) headers.push_back({name, value});
    const std::size_t before = steps();
    const ResponseView view = read_response(headers, 1'700'000'000, headers);
    return steps() - before;
  }
};

using Make = std::function<Section(std::size_t size)>;

std::string repeated(std::string start, const std::string& part, std::size_t size) {
  while (start.size() + part.size() <= size) start += part;
  return start;
}

// A different short text for each i.
std::string word(std::size_t i) {
  std::string out;
  for (; i > 0 || out.empty(); i /= 26) out += static_cast<char>('a' + i % 26);
  return out;
}

Make one_line(const char* name, const char* start, const char* part) {
  return [=](std::size_t size) {
    Section section;
    section.add(name, repeated(start, part, size));
    return section;
  };
}

Make many_lines(const char* name, const char* value) {
  return [=](std::size_t size) {
    Section section;
    for (std::size_t n = 0; n < size; n += std::string_view(name).size() + 4) {
      section.add(name, value);
    }
    return section;
  };
}

// Members with distinct names or, if `one_name`, with one name and distinct keys.
Section distinct_members(std::size_t size, bool one_name) {
  std::string limits;
  std::string policies;
  for (std::size_t i = 0; limits.size() + policies.size() < size; ++i) {
    const std::string name = '"' + (one_name ? "a" : word(i)) + '"';
    const std::string key =
        one_name ? ";pk=:" + (word(10'000 + i) + "AAAA").substr(0, 4) + ':' : "";
    limits.insert(0, name + ";r=1" + (i > 0 ? "," : ""));
    if (!policies.empty()) policies += ',';
    policies += name + ";q=1" + key;
  }
  Section section;
  section.add("RateLimit", limits);
  section.add("RateLimit-Policy", policies);
  return section;
}

Section suffixes(std::size_t size) {
  Section section;
  for (std::size_t i = 0; i * 24 < size; ++i) section.add("X-RateLimit-Limit-" + word(i), "x");
  return section;
}

const std::pair<const char*, Make> hostile[] = {
    {"members", one_line("RateLimit", "\"a\";r=1", ",\"a\";r=1")},
    {"parameters", one_line("RateLimit", "\"a\";r=1", ";r=1")},
    {"wrong parameters", one_line("RateLimit-Policy", "\"a\";q=1", ";w=x")},
    {"spaces", one_line("RateLimit", "", " ")},
    {"escapes", one_line("RateLimit", "\"", "\\\"")},
    {"inner lists", one_line("RateLimit", "limit=(", "() ")},
    {"keys of a dictionary", one_line("RateLimit", "limit=1", ",limit=1")},
    {"digits", one_line("RateLimit-Reset", "", "1")},
    {"quotas", one_line("RateLimit-Limit", "1", ",1;w=1")},
    {"quotas, malformed at the end", one_line("X-RateLimit-Limit", "1", ",1")},
    {"quota policies", one_line("RateLimit-Policy", "1;w=1", ",1;w=1")},
    {"a duration", one_line("X-RateLimit-Reset", "", "1h1m1s")},
    {"a long number of a duration", one_line("X-RateLimit-Reset", "", "9")},
    {"a date's fraction", one_line("X-RateLimit-Reset", "2023-11-14T22:14:20.", "0")},
    {"Retry-After", one_line("Retry-After", "", "9")},
    {"lines", many_lines("RateLimit", "\"a\";r=1")},
    {"malformed lines", many_lines("RateLimit", "\"a\";r")},
    {"lines of a field that stands alone", many_lines("X-RateLimit-Limit", "1")},
    {"lines of Retry-After", many_lines("Retry-After", "1")},
    {"lines of a suffix", many_lines("X-RateLimit-Limit-Minute", "x")},
    {"lines of another field", many_lines("a", "")},
    {"names", [](std::size_t size) { return distinct_members(size, false); }},
    {"keys of one name", [](std::size_t size) { return distinct_members(size, true); }},
    {"suffixes", suffixes},
};

TEST(Steps, TwiceTheInputTakesAboutTwiceTheSteps) {
  for (const auto& [what, make] : hostile) {
    const std::size_t half = make(size_max / 2).steps_to_read();
    const std::size_t whole = make(size_max).steps_to_read();
    // 2.5 is between linear (2) and quadratic (4); 200 steps per byte is far above any reader's.
    EXPECT_LT(static_cast<double>(whole), 2.5 * static_cast<double>(half) + 1000.0) << what;
    EXPECT_LT(whole, size_max * 200) << what;
  }
}

TEST(Steps, AreCounted) {
  Section section;
  section.add("RateLimit", repeated("", " ", 1000));
  EXPECT_GT(section.steps_to_read(), 1000u);
}

}  // namespace
}  // namespace headgate::field
