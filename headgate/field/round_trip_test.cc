// The fields of every form are written as the vectors say, and are read back with the same meaning.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "headgate/base/instant.h"
#include "headgate/base/testing/source_tree.h"
#include "headgate/field/closest.h"
#include "headgate/field/ratelimit.h"
#include "headgate/field/read/response.h"
#include "headgate/field/sf/parse.h"
#include "headgate/field/testing/announce.h"

namespace headgate::field {
namespace {

using nlohmann::json;

// Whether a Member can hold the vector's numbers: it has no negative, fractional or Boolean ones.
bool fits_the_type(const json& member) {
  for (const char* key : {"q", "w", "r", "t"}) {
    if (member.contains(key) && !member[key].is_number_unsigned()) return false;
  }
  return true;
}

sf::Parameters extra_of(const json& member, const char* key) {
  sf::Parameters out;
  for (const json& p : member.value(key, json::array())) {
    if (p.at(1).is_boolean()) {
      out.push_back({p.at(0), p.at(1).get<bool>()});
    } else if (p.at(1).is_number()) {
      out.push_back({p.at(0), p.at(1).get<std::int64_t>()});
    } else {
      out.push_back({p.at(0), p.at(1).get<std::string>()});
    }
  }
  return out;
}

template <class T>
std::optional<T> find(const json& member, const char* key) {
  return member.contains(key) ? std::optional(member[key].get<T>()) : std::nullopt;
}

Announcement announcement_of(const json& j) {
  Announcement a;
  a.member.policy = find<std::string>(j, "policy");
  a.member.q = find<std::uint64_t>(j, "q");
  a.member.unit = find<std::string>(j, "qu");
  a.member.w = find<std::uint64_t>(j, "w");
  a.member.r = find<std::uint64_t>(j, "r");
  a.member.t = find<std::uint64_t>(j, "t");
  if (const auto base64 = find<std::string>(j, "pk")) {
    a.member.pk = std::get<sf::Bytes>(sf::parse_item(":" + *base64 + ":")->value).bytes;
  }
  a.policy_extra = extra_of(j, "pext");
  a.limit_extra = extra_of(j, "ext");
  return a;
}

json headers_of(const std::vector<FieldLine>& lines) {
  json out = json::array();
  for (const FieldLine& line : lines) out.push_back({line.name, line.value});
  return out;
}

// The fields of the current form, written member by member as the doors do.
json written(const std::vector<Announcement>& announcements, PolicyPart part, bool& fine) {
  std::array<char, 1000> policy_room{};
  std::array<char, 1000> limit_room{};
  Writer policy(policy_room);
  Writer limit(limit_room);
  for (const Announcement& a : announcements) {
    const Member& m = a.member;
    if (m.q && part == PolicyPart::send) {
      if (!policy.text().empty()) policy.put(member_separator);
      fine = write_policy_member(policy, *m.policy, *m.q, m.unit.value_or(""), m.w, m.pk) && fine;
    }
    if (m.r) {
      if (!limit.text().empty()) limit.put(member_separator);
      fine = write_limit_member(limit, *m.policy, *m.r, m.t, m.pk) && fine;
    }
  }
  json out = json::array();
  if (!policy.text().empty()) out.push_back({policy_name, policy.text()});
  if (!limit.text().empty()) out.push_back({ratelimit_name, limit.text()});
  return out;
}

TEST(Announce, Vectors) {
  const std::map<std::string, Form> forms = {{"current", Form::ratelimit},
                                             {"draft-07", Form::draft_07},
                                             {"draft-03", Form::draft_03},
                                             {"x-ratelimit", Form::x_ratelimit}};
  std::ifstream in(source_tree() / "tests/vectors/fields/serialise.json");
  const json file = json::parse(in);
  int ran = 0;
  int by_member = 0;
  std::set<std::string> unfit;
  for (const json& vector : file.at("cases")) {
    ++ran;
    const std::string id = vector.at("id");
    SCOPED_TRACE(id + " " + vector.at("note").get<std::string>());
    const Form form = forms.at(vector.at("form"));
    const json& expect = vector.at("expect");
    const PolicyPart part =
        vector.value("policy_field", true) ? PolicyPart::send : PolicyPart::omit;
    std::vector<Announcement> announcements;
    bool plain = form == Form::ratelimit;
    for (const json& member : vector.at("members")) {
      if (!fits_the_type(member)) {
        unfit.insert(id);
        EXPECT_TRUE(expect.contains("error"));
        continue;
      }
      announcements.push_back(announcement_of(member));
      const Announcement& a = announcements.back();
      plain = plain && a.member.policy && (a.member.r || !a.member.t) && a.policy_extra.empty() &&
              a.limit_extra.empty();
    }
    if (unfit.contains(id)) continue;
    const auto lines = announce(announcements, form, part);
    ASSERT_EQ(lines.has_value(), !expect.contains("error"));
    if (lines) {
      EXPECT_EQ(headers_of(*lines), expect.at("headers"));
    }
    if (!plain) continue;
    ++by_member;
    bool fine = true;
    const json text = written(announcements, part, fine);
    EXPECT_EQ(fine, lines.has_value());
    if (fine) {
      EXPECT_EQ(text, expect.at("headers"));
    }
  }
  EXPECT_EQ(ran, 40);
  EXPECT_EQ(by_member, 21);
  EXPECT_EQ(unfit, (std::set<std::string>{"s-021", "s-022", "s-023", "s-024"}));
}

Announcement limit(std::uint64_t q, std::uint64_t w, std::uint64_t r,
                   std::optional<std::uint64_t> t) {
  Announcement a;
  a.member = {"name", q, "requests", w, r, t, {}};
  return a;
}

// express-rate-limit's `draft-6`, which no vector has: RateLimit-Policy beside the three fields of
// limit_fields.h.
TEST(Announce, Draft06HasThePoliciesInAFieldOfTheirOwn) {
  const Announcement limits[] = {limit(1000, 3600, 650, 1800), limit(5000, 86400, 100, 36000)};
  using Lines = std::vector<FieldLine>;
  EXPECT_EQ(announce(limits, Form::draft_06),
            (Lines{{"RateLimit-Policy", "1000;w=3600, 5000;w=86400"},
                   {"RateLimit-Limit", "5000"},
                   {"RateLimit-Remaining", "100"},
                   {"RateLimit-Reset", "36000"}}));
  EXPECT_EQ(announce(limits, Form::draft_06, PolicyPart::omit)->size(), 3U);
  const Announcement never[] = {limit(0, 60, 0, {})};
  EXPECT_EQ(announce(never, Form::draft_06), Lines{});
}

TEST(Announce, OlderFormsLowerNumbersToo) {
  constexpr std::uint64_t huge = std::numeric_limits<std::uint64_t>::max();
  const Announcement limits[] = {limit(huge, huge, huge, huge)};
  for (const Form form : {Form::draft_07, Form::draft_06, Form::draft_03, Form::x_ratelimit}) {
    const auto lines = announce(limits, form);
    ASSERT_TRUE(lines.has_value() && !lines->empty());
    for (const FieldLine& line : *lines) {
      if (line.name.ends_with("-Reset")) {
        EXPECT_EQ(line.value, "999999999") << "more would be read as a Unix time";
        continue;
      }
      EXPECT_NE(line.value.find("999999999999999"), std::string::npos) << line.name;
      EXPECT_EQ(line.value.find("184467"), std::string::npos) << line.name;
    }
  }
}

// Reading any form returns what was written: all members, or the limit closest to exhaustion and
// the policies.
RC_GTEST_PROP(Announce, EveryFormIsReadBackAsItWasWritten, ()) {
  // Names and quotas are distinct, since readers join policies and limits by them.
  const auto quotas = *rc::gen::unique<std::vector<std::uint64_t>>(
      rc::gen::inRange<std::uint64_t>(0, field_integer_max + 1));
  RC_PRE(!quotas.empty());
  std::vector<Announcement> announcements;
  for (const std::uint64_t q : quotas) {
    Announcement& a = announcements.emplace_back();
    a.member.policy = "\"" + std::to_string(q) + "\\";
    a.member.q = q;
    a.member.unit = "requests";
    a.member.w = *rc::gen::inRange<std::uint64_t>(1, field_integer_max + 1);
    a.member.r = *rc::gen::inRange<std::uint64_t>(0, q + 1);
    a.member.t = *rc::gen::oneOf(rc::gen::inRange<std::uint64_t>(0, 1'000'000),
                                 rc::gen::inRange<std::uint64_t>(0, field_integer_max + 1));
  }
  const auto read = [&](Form form) {
    const auto lines = announce(announcements, form).value();
    std::vector<HeaderLine> headers;
    for (const FieldLine& line : lines) headers.push_back({line.name, line.value});
    const ResponseView view = read_response(headers, {});
    RC_ASSERT(view.ignored.empty());
    return view.members;
  };

  std::vector<Member> all;
  for (const Announcement& a : announcements) all.push_back(a.member);
  RC_ASSERT(read(Form::ratelimit) == all);

  const auto closest = std::min_element(
      all.begin(), all.end(),
      [](const Member& a, const Member& b) { return closer(*a.r, a.t, *b.r, b.t); });
  std::vector<Member> older{*closest};
  for (auto m = all.begin(); m != all.end(); ++m) {
    if (m != closest) older.push_back({{}, m->q, m->unit, m->w, {}, {}, {}});
  }
  older[0].policy.reset();
  RC_ASSERT(read(Form::draft_07) == older);
  // A longer reset would be read as a Unix time, so it is lowered.
  older[0].t = std::min<std::uint64_t>(*older[0].t, 999'999'999);
  RC_ASSERT(read(Form::draft_06) == older);
  RC_ASSERT(read(Form::draft_03) == older);
  older.resize(1);
  older[0].w.reset();
  RC_ASSERT(read(Form::x_ratelimit) == older);
}

}  // namespace
}  // namespace headgate::field
