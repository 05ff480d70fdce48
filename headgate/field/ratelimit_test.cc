#include "headgate/field/ratelimit.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <string>

#include "headgate/base/instant.h"
#include "headgate/base/testing/allocations.h"
#include "headgate/field/accept.h"
#include "headgate/field/date/http_date.h"
#include "headgate/field/problem.h"
#include "headgate/field/read/member_reader.h"
#include "headgate/field/retry_after.h"

namespace headgate::field {
namespace {

using namespace std::string_view_literals;

TEST(Ratelimit, WritesCanonicalMembers) {
  std::array<char, 200> room{};
  Writer w(room);
  EXPECT_TRUE(write_limit_member(w, "burst", 99, 60, {}));
  w.put(member_separator);
  EXPECT_TRUE(write_limit_member(w, R"(a"b\c)", 0, {}, "\x01"sv));
  EXPECT_EQ(w.text(), R"("burst";r=99;t=60, "a\"b\\c";r=0;pk=:AQ==:)");

  Writer p(room);
  EXPECT_TRUE(write_policy_member(p, "bytes", 65535, "content-bytes", 10, "\x02"sv));
  p.put(member_separator);
  EXPECT_TRUE(write_policy_member(p, "plain", 5, "request", 1, {}));
  EXPECT_EQ(p.text(), R"("bytes";q=65535;qu="content-bytes";w=10;pk=:Ag==:, "plain";q=5;w=1)");
}

TEST(Ratelimit, LowersNumbersToTheIntegerRange) {
  std::array<char, 100> room{};
  Writer w(room);
  EXPECT_TRUE(write_limit_parameters(w, ~0ull, 1'000'000'000'000'000, {}));
  EXPECT_EQ(w.text(), ";r=999999999999999;t=999999999999999");
}

TEST(Ratelimit, WritesNothingForAnInvalidNameUnitOrWindow) {
  std::array<char, 100> room{};
  Writer w(room);
  w.put("before");
  for (const char* name : {"caf\xc3\xa9", "a\nb", "tab\t", "\x7f"}) {
    EXPECT_FALSE(write_quoted_name(w, name));
    EXPECT_FALSE(write_limit_member(w, name, 1, 1, {}));
    EXPECT_FALSE(write_policy_member(w, name, 1, "requests", 1, {}));
  }
  EXPECT_FALSE(write_policy_member(w, "zero window", 1, "requests", 0, {}));
  EXPECT_FALSE(write_policy_member(w, "bad unit", 1, "\x80", 1, {}));
  EXPECT_EQ(w.text(), "before");
  EXPECT_FALSE(w.overflow());
}

TEST(Ratelimit, WritesAMemberWholeOrNotAtAll) {
  const std::string whole = R"("name";q=10;qu="acme";w=60;pk=:AQI=:)";
  std::array<char, 100> room{};
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    Writer w{std::span(room).first(size)};
    const bool fits = write_policy_member(w, "name", 10, "acme", 60, "\x01\x02"sv);
    EXPECT_EQ(fits, size == whole.size());
    EXPECT_EQ(w.text(), fits ? whole : "") << size;
    EXPECT_FALSE(w.overflow());
  }
}

TEST(Ratelimit, NothingOnTheRequestPathAllocates) {
  std::array<char, 2000> room{};
  const std::string name(64, 'n');
  const std::string_view names[] = {name, "other"};
  const std::string_view accept[] = {"text/html;q=0.5", "application/json;charset=\"utf-8\""};
  const std::string value = R"("burst";r=99;t=60;pk=:AQIDBA==:, "daily";r=4999;t=86383)";
  Writer out(room);
  bool fine = true;
  RawMember member;
  int members = 0;

  const std::size_t before = allocations();
  fine = write_quoted_name(out, name) && fine;
  fine = write_limit_parameters(out, 1, 2, name) && fine;
  fine = write_limit_member(out, name, 1, 2, name) && fine;
  fine = write_policy_member(out, name, 1, "content-bytes", 60, name) && fine;
  fine = !write_policy_member(out, "\x80", 1, "", {}, {}) && fine;
  fine = write_retry_after(out, 5) && fine;
  fine = write_http_date(out, 784111777) && fine;
  fine = write_problem(out, Problem::quota_exceeded, 429, names) && fine;
  fine = accepts_problem_json(accept) && fine;
  MemberReader reader(FieldKind::ratelimit, value);
  while (reader.next(member)) ++members;
  const std::size_t after = allocations();

  EXPECT_EQ(after - before, 0u);
  EXPECT_TRUE(fine && reader.ok());
  EXPECT_EQ(members, 2);
  const std::string more(100, 'm');
  EXPECT_GT(allocations(), after) << "the counter counts nothing";
}

RC_GTEST_PROP(Ratelimit, AWrittenMemberReadsBackAsItself, ()) {
  const auto name = *rc::gen::container<std::string>(rc::gen::inRange<char>(0x20, 0x7f));
  const auto unit = *rc::gen::container<std::string>(rc::gen::inRange<char>(0x20, 0x7f));
  const auto first = *rc::gen::arbitrary<std::uint64_t>();
  const auto second = *rc::gen::arbitrary<rc::Maybe<std::uint64_t>>();
  const auto key = *rc::gen::arbitrary<rc::Maybe<std::string>>();
  const auto number = second ? std::optional(*second) : std::nullopt;
  const auto pk = key ? std::optional<std::string>(*key) : std::nullopt;
  const auto lowered = [](std::optional<std::uint64_t> n) {
    return n ? std::optional(std::min(*n, field_integer_max)) : n;
  };
  std::array<char, 4000> room{};

  Writer limit(room);
  RC_ASSERT(write_limit_member(limit, name, first, number, pk));
  const std::string_view limit_lines[] = {limit.text()};
  Member expected;
  expected.policy = name;
  expected.r = lowered(first);
  expected.t = lowered(number);
  expected.pk = pk;
  RC_ASSERT(read_members(FieldKind::ratelimit, limit_lines).members == std::vector{expected});

  Writer policy(room);
  const bool refused = number == std::uint64_t{0};
  RC_ASSERT(write_policy_member(policy, name, first, unit, number, pk) == !refused);
  RC_ASSERT(!refused || policy.text().empty());
  if (refused) return;
  const std::string_view policy_lines[] = {policy.text()};
  expected.q = lowered(first);
  expected.unit = is_default_unit(unit) ? default_unit : unit;
  expected.w = lowered(number);
  expected.r.reset();
  expected.t.reset();
  RC_ASSERT(read_members(FieldKind::policy, policy_lines).members == std::vector{expected});
}

RC_GTEST_PROP(Ratelimit, ANameIsWrittenAndReadBackOrRefused, ()) {
  const auto name = *rc::gen::arbitrary<std::string>();
  const bool printable =
      std::all_of(name.begin(), name.end(), [](char c) { return c >= 0x20 && c <= 0x7e; });
  std::array<char, 4000> room{};
  Writer out(room);
  RC_ASSERT(write_limit_member(out, name, 0, {}, {}) == printable);
  RC_ASSERT(printable || out.text().empty());
}

}  // namespace
}  // namespace headgate::field
