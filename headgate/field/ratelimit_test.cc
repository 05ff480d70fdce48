#include "headgate/field/ratelimit.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

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

TEST(Ratelimit, FailsClosedAndLeavesNothingHalfWritten) {
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

TEST(Ratelimit, AMemberFitsWholeOrNotAtAll) {
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

}  // namespace
}  // namespace headgate::field
