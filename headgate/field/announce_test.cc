#include "headgate/field/announce.h"

#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "headgate/field/ratelimit.h"
#include "headgate/field/sf_parse.h"

namespace headgate::field {
namespace {

using nlohmann::json;

// Whether the vector's numbers can be put into a Member at all: its type has no negative,
// fractional or Boolean ones.
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

json headers_of(const Fields& fields, bool policy_field) {
  json out = json::array();
  if (policy_field && !fields.policy.empty()) out.push_back({policy_name, fields.policy});
  if (!fields.ratelimit.empty()) out.push_back({ratelimit_name, fields.ratelimit});
  return out;
}

// The same by the way of the doors, where it can say as much.
Fields written(const std::vector<Announcement>& announcements, bool& fine) {
  std::array<char, 1000> policy_room{};
  std::array<char, 1000> limit_room{};
  Writer policy(policy_room);
  Writer limit(limit_room);
  for (const Announcement& a : announcements) {
    const Member& m = a.member;
    if (m.q) {
      if (!policy.text().empty()) policy.put(member_separator);
      fine = write_policy_member(policy, *m.policy, *m.q, m.unit.value_or(""), m.w, m.pk) && fine;
    }
    if (m.r) {
      if (!limit.text().empty()) limit.put(member_separator);
      fine = write_limit_member(limit, *m.policy, *m.r, m.t, m.pk) && fine;
    }
  }
  return {std::string(policy.text()), std::string(limit.text())};
}

TEST(Announce, VectorsOfTheCurrentForm) {
  std::ifstream in(HEADGATE_SOURCE_DIR "/tests/vectors/fields/serialise.json");
  const json file = json::parse(in);
  int ran = 0;
  int doors = 0;
  std::set<std::string> unfit;
  for (const json& vector : file.at("cases")) {
    if (vector.at("form") != "current") continue;
    ++ran;
    const std::string id = vector.at("id");
    SCOPED_TRACE(id + " " + vector.at("note").get<std::string>());
    const json& expect = vector.at("expect");
    const bool policy_field = vector.value("policy_field", true);
    std::vector<Announcement> announcements;
    bool plain = true;
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
    const auto fields = announce(announcements);
    ASSERT_EQ(fields.has_value(), !expect.contains("error"));
    if (fields) {
      EXPECT_EQ(headers_of(*fields, policy_field), expect.at("headers"));
    }
    if (!plain) continue;
    ++doors;
    bool fine = true;
    const Fields text = written(announcements, fine);
    EXPECT_EQ(fine, fields.has_value());
    if (fine) {
      EXPECT_EQ(headers_of(text, policy_field), expect.at("headers"));
    }
  }
  EXPECT_EQ(ran, 31);
  EXPECT_EQ(doors, 21);
  EXPECT_EQ(unfit, (std::set<std::string>{"s-021", "s-022", "s-023", "s-024"}));
}

}  // namespace
}  // namespace headgate::field
