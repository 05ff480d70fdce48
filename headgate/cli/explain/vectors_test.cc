// Every vector of reading fields, as JSON and as text: the same as `headgate explain` prints.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "headgate/base/testing/source_tree.h"
#include "headgate/cli/explain/explanation.h"
#include "headgate/cli/explain/view_json.h"
#include "headgate/field/read/response.h"

namespace headgate::cli {
namespace {

using nlohmann::json;

constexpr std::int64_t now = 1'700'000'000;  // Tue, 14 Nov 2023 22:13:20 GMT

TEST(ExplainVectors, HaveTheirJsonAndAPrintableText) {
  std::ifstream file(source_tree() / "tests/vectors/fields/parse.json");
  const json cases = json::parse(file).at("cases");
  std::size_t read = 0;
  for (const json& one : cases) {
    const std::string id = one.at("id");
    // Trailers are not in a header section, and the command always has a clock.
    const json& tags = one.at("tags");
    if (std::find(tags.begin(), tags.end(), "unit_only") != tags.end() ||
        one.contains("trailers") || id == "p-213") {
      continue;
    }
    HeaderSection section;
    section.status = 200;
    for (const json& line : one.at("headers")) section.lines.push_back({line.at(0), line.at(1)});
    const auto given = one.find("now");
    const std::int64_t at =
        given == one.end() || given->is_null() ? now : given->get<std::int64_t>();
    const std::string view = view_json(field::read_response(section.headers(), at));
    EXPECT_EQ(json::parse(view), one.at("expect")) << id;
    const std::string text = explanation(section, at);
    EXPECT_TRUE(std::all_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x80; }))
        << id;
    ++read;
  }
  EXPECT_GE(read, 200u);
}

}  // namespace
}  // namespace headgate::cli
