// Fields as doors write them: the vectors, through a policy file.

#include "headgate/gate/field_writer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "headgate/base/testing/allocations.h"
#include "headgate/base/testing/source_tree.h"
#include "headgate/field/sf/parse.h"
#include "headgate/policy/file/load.h"

namespace headgate::gate {
namespace {

using nlohmann::json;

// JSON is YAML except for `\/`, which the vectors do not have.
std::shared_ptr<const policy::PolicySet> load(const std::string& settings, const json& policies) {
  const auto loaded =
      policy::load_text("version: 1\n" + settings + "\npolicies: " + policies.dump(), "test.yaml");
  if (loaded) return *loaded;
  for (const policy::Fault& fault : loaded.error()) ADD_FAILURE() << fault.text();
  std::abort();
}

json as_json(const Lines& lines) {
  json out = json::array();
  for (const Line& line : lines) out.push_back({line.name, line.value});
  return out;
}

// A vector's members as a FieldWriter gets them: policies and their decisions.
class Members {
 public:
  explicit Members(const json& members, const std::string& settings) {
    json policies = json::array();
    for (const json& m : members) {
      json& policy = policies.emplace_back();
      policy = {{"name", m.at("policy")}, {"quota", m.at("q")}};
      if (m.contains("w")) {
        policy["window"] = m["w"];
        policy["unit"] = m.value("qu", "requests");
      } else {
        policy["algorithm"] = "concurrency";
      }
    }
    bool keys = false;
    for (const json& m : members) {
      Item& item = items_.emplace_back();
      item.policy = static_cast<std::uint16_t>(items_.size() - 1);
      item.remaining = m.at("r").get<std::uint64_t>();
      item.reset = m.value("t", limit::Decision::no_reset);
      if (m.contains("pk")) {
        const std::string text = ":" + m["pk"].get<std::string>() + ":";
        pks_.push_back(std::make_unique<std::string>(
            std::get<field::sf::Bytes>(field::sf::parse_item(text)->value).bytes));
        item.pk = *pks_.back();
        keys = true;
      }
    }
    policies_ = load(settings + (keys ? "\npartition-key: plain" : ""), policies);
    field_writer_ = std::make_unique<FieldWriter>(*policies_);
  }

  [[nodiscard]] const FieldWriter& field_writer() const { return *field_writer_; }
  [[nodiscard]] std::span<const Item> items() const { return items_; }

 private:
  std::vector<Item> items_;
  std::vector<std::unique_ptr<std::string>> pks_;
  std::shared_ptr<const policy::PolicySet> policies_;
  std::unique_ptr<FieldWriter> field_writer_;
};

json vectors(const char* name) {
  std::ifstream in(source_tree() / "tests/vectors/fields" / name);
  return json::parse(in).at("cases");
}

// Only vectors with complete members: a policy always has a quota, units left, and a window unless
// it counts requests in flight.
TEST(FieldWriter, VectorsOfEveryForm) {
  int ran = 0;
  for (const json& vector : vectors("serialise.json")) {
    const json& expect = vector.at("expect");
    bool whole = expect.contains("headers") && vector.value("policy_field", true);
    for (const json& m : vector.at("members")) {
      const bool window = m.contains("w") || m.value("qu", "") == "concurrent-requests";
      whole = whole && m.contains("q") && m.contains("r") && window;
      whole = whole && !m.contains("ext") && !m.contains("pext");
    }
    if (!whole) continue;
    ++ran;
    SCOPED_TRACE(vector.at("id").get<std::string>() + " " + vector.at("note").get<std::string>());
    const std::string form = vector.at("form");
    const Members members(vector.at("members"),
                          "fields: " + (form == "current" ? "ratelimit" : form));
    std::array<char, 500> room;
    Writer out(room);
    const Lines lines = members.field_writer().write(members.items(), out);
    EXPECT_EQ(as_json(lines), expect.at("headers"));
    EXPECT_EQ(lines.left_out(), 0U);
  }
  EXPECT_EQ(ran, 15);
}

// The steps of a door, in their shortest form.
json merged(const json& upstream_lines, const Members& own) {
  std::vector<std::string_view> ratelimit;
  std::vector<std::string_view> policy;
  for (const json& line : upstream_lines) {
    if (line[0] == "RateLimit") ratelimit.push_back(line[1].get_ref<const std::string&>());
    if (line[0] == "RateLimit-Policy") policy.push_back(line[1].get_ref<const std::string&>());
  }
  const auto upstream = field::Upstream::read(ratelimit, policy, {});
  std::array<char, 500> room;
  Writer out(room);
  const Lines ours = own.field_writer().write_beside(upstream, own.items(), out);
  const auto replaced = [&](const std::string& name) {
    return std::any_of(ours.begin(), ours.end(), [&](const Line& l) { return l.name == name; }) &&
           (name == "RateLimit" ? upstream.ratelimit() : upstream.policy()) ==
               field::Treatment::replace;
  };
  json out_lines = json::array();
  for (const json& line : upstream_lines) {
    if (!replaced(line[0])) out_lines.push_back(line);
  }
  for (const json& line : as_json(ours)) out_lines.push_back(line);
  return out_lines;
}

TEST(FieldWriter, VectorsOfMerging) {
  int ran = 0;
  for (const json& vector : vectors("merge.json")) {
    SCOPED_TRACE(vector.at("id").get<std::string>() + " " + vector.at("note").get<std::string>());
    const Members own(vector.at("own"), "upstream-prefix: gw-");
    EXPECT_EQ(merged(vector.at("upstream"), own), vector.at("expect"));
    ++ran;
  }
  EXPECT_EQ(ran, 10);
}

const json burst_and_daily = json::parse(R"([
  {"policy": "burst", "q": 3, "w": 60, "r": 2, "t": 40},
  {"policy": "daily", "q": 5000, "w": 86400, "r": 4999, "t": 86383}])");

TEST(FieldWriter, AResetOfDecadesIsNotReadAsAUnixTime) {
  const json decades =
      json::parse(R"([{"policy": "p", "q": 1, "w": 2000000000, "r": 0, "t": 2000000000}])");
  for (const char* form : {"x-ratelimit", "draft-06", "draft-03"}) {
    const Members members(decades, std::string("fields: ") + form);
    std::array<char, 200> room;
    Writer out(room);
    const Lines lines = members.field_writer().write(members.items(), out);
    const auto reset = std::find_if(lines.begin(), lines.end(),
                                    [](const Line& line) { return line.name.ends_with("-Reset"); });
    ASSERT_NE(reset, lines.end()) << form;
    EXPECT_EQ(reset->value, "999999999") << form;
  }
}

TEST(FieldWriter, PagesOfOtherOriginsMayReadWhatIsSent) {
  const Members members(burst_and_daily,
                        "cors: {expose-headers: true}\nfields: [ratelimit, draft-03, x-ratelimit]");
  std::array<char, 400> room;
  const json line = {"Access-Control-Expose-Headers",
                     "RateLimit-Policy, RateLimit, RateLimit-Limit, RateLimit-Remaining, "
                     "RateLimit-Reset, X-RateLimit-Limit, X-RateLimit-Remaining, "
                     "X-RateLimit-Reset, Retry-After"};
  Writer out(room);
  const json alone = as_json(members.field_writer().write(members.items(), out));
  ASSERT_EQ(alone.size(), 9U);
  EXPECT_EQ(alone.back(), line);

  const std::string_view theirs[] = {R"("o";r=1)"};
  const auto upstream = field::Upstream::read(theirs, {}, {});
  Writer other_out(room);
  const json beside =
      as_json(members.field_writer().write_beside(upstream, members.items(), other_out));
  EXPECT_EQ(beside.back(), line);

  Writer none_out(room);
  EXPECT_EQ(members.field_writer().write({}, none_out).size(), 0U);
}

TEST(FieldWriter, AUnixResetIsNeverTooEarlyAndLessThanASecondLate) {
  const Members members(burst_and_daily, "fields: x-ratelimit-unix");
  std::array<char, 200> room;
  Writer out(room);
  using std::chrono::system_clock;
  const auto before = system_clock::now().time_since_epoch();
  const Lines lines = members.field_writer().write(members.items(), out);
  const auto after = system_clock::now().time_since_epoch();
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines.begin()[0].value, "3");
  EXPECT_EQ(lines.begin()[1].value, "2");
  EXPECT_EQ(lines.begin()[2].name, "X-RateLimit-Reset");
  const std::chrono::seconds reset(std::stoll(std::string(lines.begin()[2].value)) - 40);
  EXPECT_GE(reset, before);
  EXPECT_LT(reset, after + std::chrono::seconds(1));
}

TEST(FieldWriter, AFormThatDoesNotFitIsLeftOutCompletely) {
  const Members members(burst_and_daily, "fields: [ratelimit, draft-03, x-ratelimit]");
  std::array<char, 400> room;
  std::size_t forms = 0;
  for (std::size_t size = 0; size <= room.size(); ++size) {
    Writer out({room.data(), size});
    const Lines lines = members.field_writer().write(members.items(), out);
    std::map<std::string_view, std::size_t> fields;  // per form, by a letter of its own
    for (const Line& line : lines) {
      EXPECT_FALSE(line.value.empty());
      ++fields[line.name.starts_with("X-")                                  ? "x"
               : line.name.ends_with("-Policy") || line.name == "RateLimit" ? "r"
                                                                            : "3"];
    }
    for (const auto& [form, count] : fields) EXPECT_EQ(count, form == "r" ? 2U : 3U);
    EXPECT_EQ(lines.left_out() == 0, fields.size() == 3) << size;
    forms = fields.size();
  }
  EXPECT_EQ(forms, 3U) << "with room for all";
}

TEST(FieldWriter, APreparedPolicyFieldIsNotWrittenAgain) {
  const json one = json::array({burst_and_daily[0]});
  for (const auto& [fields, constant] : std::map<std::string, std::vector<std::string>>{
           {"ratelimit", {"RateLimit-Policy"}},
           {"draft-07", {"RateLimit-Policy"}},
           {"draft-06", {"RateLimit-Policy", "RateLimit-Limit"}},
           {"draft-03", {"RateLimit-Limit"}},
           {"x-ratelimit", {"X-RateLimit-Limit"}}}) {
    const Members members(one, "fields: " + fields);
    std::array<char, 100> room;
    Writer out(room);
    std::vector<std::string> found;
    for (const Line& line : members.field_writer().write(members.items(), out)) {
      if (line.constant) found.emplace_back(line.name);
    }
    EXPECT_EQ(found, constant) << fields;
  }
}

TEST(FieldWriter, EverySubsetOfPoliciesHasItsOwnQuotas) {
  const auto policies = load("", json::parse(R"([
      {"name": "a", "quota": 1, "window": 60},
      {"name": "b", "quota": 2, "window": 60, "overrides": [{"ids": ["10.0.0.9"], "quota": 20}]},
      {"name": "c", "quota": 3, "window": 60},
      {"name": "d", "quota": 4, "window": 60}])"));
  const FieldWriter report(*policies);
  for (unsigned reported = 1; reported < 32;
       ++reported) {  // a bit per policy, and one for the override
    const bool overridden = (reported & 16) != 0;
    std::vector<Item> items;
    std::string expected;
    for (std::uint16_t i = 0; i < 4; ++i) {
      if ((reported >> i & 1) == 0) continue;
      const bool other = i == 1 && overridden;
      items.push_back({i, false, other ? 1U : 0U, 1, 1, {}});
      if (!expected.empty()) expected += ", ";
      expected +=
          std::string("\"") + "abcd"[i] + "\";q=" + std::to_string(other ? 20 : i + 1) + ";w=60";
    }
    std::array<char, 400> room;
    Writer out(room);
    const Lines lines = report.write(items, out);
    if (items.empty()) continue;
    ASSERT_EQ(lines.size(), 2U);
    EXPECT_EQ(lines.begin()->value, expected);
  }
}

TEST(FieldWriter, WritingDoesNotAllocate) {
  for (const char* fields :
       {"[ratelimit, draft-03, x-ratelimit]", "[draft-07, x-ratelimit]", "draft-06"}) {
    const Members members(burst_and_daily, std::string("fields: ") + fields);
    std::array<char, 500> room;
    const std::size_t before = allocations();
    Writer out(room);
    const Lines lines = members.field_writer().write(members.items(), out);
    EXPECT_EQ(allocations(), before);
    EXPECT_GE(lines.size(), 4U);
  }
}

TEST(FieldWriter, OlderFormsAreSentWhereUpstreamLeavesThem) {
  const Members members(burst_and_daily, "fields: [draft-07, draft-03, x-ratelimit]");
  std::array<char, 500> room;
  const std::string_view dictionary[] = {"limit=1, remaining=1, reset=1"};
  struct {
    field::Upstream upstream;
    std::size_t lines;
  } const cases[] = {{field::Upstream::read({}, {}, {}), 8},
                     {field::Upstream::read({}, {}, {true, false}), 5},
                     {field::Upstream::read(dictionary, {}, {}), 6},
                     {field::Upstream::read(dictionary, {}, {true, true}), 0}};
  for (const auto& c : cases) {
    Writer out(room);
    EXPECT_EQ(members.field_writer().write_beside(c.upstream, members.items(), out).size(),
              c.lines);
  }
}

TEST(FieldWriter, AMemberWithoutAFreeNameIsLeftOut) {
  const Members members(burst_and_daily, "upstream-prefix: p");
  std::string all = R"("burst";r=1)";
  std::string name = "burst";
  for (int i = 0; i < 8; ++i) all += ", \"" + name.insert(0, "p") + "\";r=1";
  const std::string_view lines[] = {all};
  std::array<char, 500> room;
  Writer out(room);
  const Lines ours = members.field_writer().write_beside(field::Upstream::read(lines, {}, {}),
                                                         members.items(), out);
  EXPECT_EQ(as_json(ours), json::parse(R"([["RateLimit-Policy", "\"daily\";q=5000;w=86400"],
                                           ["RateLimit", "\"daily\";r=4999;t=86383"]])"));
  EXPECT_EQ(ours.left_out(), 1U);
}

}  // namespace
}  // namespace headgate::gate
