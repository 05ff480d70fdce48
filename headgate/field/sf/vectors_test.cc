// Runs vectors in the format of httpwg/structured-field-tests: ours, and all of theirs.
#include <gtest/gtest.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "headgate/base/testing/source_tree.h"
#include "headgate/field/sf/parse.h"
#include "headgate/field/sf/serialise.h"

namespace headgate::field::sf {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

std::string from_base32(const std::string& text) {
  std::string out;
  unsigned word = 0;
  int bits = 0;
  for (const char c : text) {
    if (c == '=') break;
    const auto value = static_cast<unsigned>(c >= 'A' ? c - 'A' : c - '2' + 26);
    word = (word << 5 | value) & 0xffff;
    bits += 5;
    if (bits < 8) continue;
    bits -= 8;
    out += static_cast<char>(word >> bits & 0xff);
  }
  return out;
}

// The vectors write a Decimal as a JSON number, which is the shortest decimal text of the double.
Decimal decimal_of(double value) {
  char text[400];
  const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::fixed).ptr;
  i128 numerator = 0;
  i128 denominator = 1;
  bool point = false;
  for (const char* p = text; p != end; ++p) {
    if (*p == '.') point = true;
    if (*p < '0' || *p > '9') continue;
    numerator = numerator * 10 + (*p - '0');
    if (point) denominator *= 10;
  }
  return Decimal::nearest(text[0] == '-' ? -numerator : numerator, denominator);
}

BareItem bare_of(const json& j) {
  if (j.is_boolean()) return j.get<bool>();
  if (j.is_number_float()) return decimal_of(j.get<double>());
  if (j.is_number()) return j.get<std::int64_t>();
  if (j.is_string()) return j.get<std::string>();
  const std::string type = j.at("__type");
  const json& value = j.at("value");
  if (type == "token") return Token{value};
  if (type == "binary") return Bytes{from_base32(value)};
  if (type == "date") return Date{value.get<std::int64_t>()};
  if (type == "displaystring") return DisplayString{value};
  throw std::runtime_error("vector with an unknown type " + type);
}

Parameters parameters_of(const json& j) {
  Parameters out;
  for (const json& p : j) out.push_back({p.at(0), bare_of(p.at(1))});
  return out;
}

Item item_of(const json& j) { return {bare_of(j.at(0)), parameters_of(j.at(1))}; }

Member member_of(const json& j) {
  if (!j.at(0).is_array()) return item_of(j);
  InnerList list;
  for (const json& item : j.at(0)) list.items.push_back(item_of(item));
  list.parameters = parameters_of(j.at(1));
  return list;
}

void value_of(const json& j, Item& out) { out = item_of(j); }
void value_of(const json& j, List& out) {
  for (const json& member : j) out.push_back(member_of(member));
}
void value_of(const json& j, Dictionary& out) {
  for (const json& member : j) out.push_back({member.at(0), member_of(member.at(1))});
}

std::string joined(const json& lines) {
  const auto texts = lines.get<std::vector<std::string>>();
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  return sf::joined(views);
}

template <class Value, class Parse>
void run(const json& vector, Parse parse) {
  const bool must_fail = vector.value("must_fail", false);
  if (!vector.contains("raw")) {
    Value value;
    value_of(vector.at("expected"), value);
    const auto text = serialise(value);
    ASSERT_EQ(text.has_value(), !must_fail);
    if (text) {
      EXPECT_EQ(*text, joined(vector.at("canonical")));
    }
    return;
  }
  const std::string raw = joined(vector.at("raw"));
  const auto parsed = parse(raw);
  if (must_fail) {
    ASSERT_FALSE(parsed.has_value());
    EXPECT_LE(parsed.error().offset, raw.size());
    return;
  }
  ASSERT_TRUE(parsed.has_value()) << parsed.error().what << " at byte " << parsed.error().offset;
  Value expected;
  value_of(vector.at("expected"), expected);
  EXPECT_TRUE(*parsed == expected);
  const auto text = serialise(*parsed);
  ASSERT_TRUE(text.has_value()) << text.error().what;
  EXPECT_EQ(*text, joined(vector.contains("canonical") ? vector["canonical"] : vector["raw"]));
}

std::size_t run_file(const fs::path& file) {
  std::ifstream in(file);
  const json vectors = json::parse(in);
  for (const json& vector : vectors) {
    SCOPED_TRACE(file.filename().string() + ": " + vector.at("name").get<std::string>());
    const std::string type = vector.at("header_type");
    if (type == "item") run<Item>(vector, parse_item);
    if (type == "list") run<List>(vector, parse_list);
    if (type == "dictionary") run<Dictionary>(vector, parse_dictionary);
  }
  return vectors.size();
}

const fs::path source = source_tree();

TEST(StructuredFields, OwnVectors) {
  EXPECT_EQ(run_file(source / "tests/vectors/fields/structured.json"), 32u);
}

TEST(StructuredFields, VectorsOfTheHttpWorkingGroup) {
  const fs::path folder = source / "tests/vectors/structured-field-tests";
  std::size_t ran = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".json") ran += run_file(entry.path());
  }
  EXPECT_EQ(ran, 2135u);
}

}  // namespace
}  // namespace headgate::field::sf
