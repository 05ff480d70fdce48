// The bytes of replies, in both versions.

#include "headgate/net/resp_writer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace headgate::net {
namespace {

template <class Write>
std::string written(RespVersion version, Write write) {
  std::string out;
  RespWriter writer(out, version);
  write(writer);
  return out;
}

template <class Write>
std::string in_both(Write write) {
  const std::string two = written(RespVersion::resp2, write);
  EXPECT_EQ(written(RespVersion::resp3, write), two);
  return two;
}

TEST(RespWriter, WritesTheTypesOfBothVersions) {
  using W = RespWriter;
  EXPECT_EQ(in_both([](W& w) { w.simple("OK"); }), "+OK\r\n");
  EXPECT_EQ(in_both([](W& w) { w.error("ERR no"); }), "-ERR no\r\n");
  EXPECT_EQ(in_both([](W& w) { w.integer(-1); }), ":-1\r\n");
  EXPECT_EQ(in_both([](W& w) { w.integer(std::numeric_limits<std::int64_t>::min()); }),
            ":-9223372036854775808\r\n");
  EXPECT_EQ(in_both([](W& w) { w.bulk("a\r\nb"); }), "$4\r\na\r\nb\r\n");
  EXPECT_EQ(in_both([](W& w) { w.bulk(""); }), "$0\r\n\r\n");
  EXPECT_EQ(in_both([](W& w) { w.array(2); }), "*2\r\n");
}

TEST(RespWriter, WritesSeveralIntegersAsItWritesEach) {
  for (std::size_t size = 0; size < 20; ++size) {
    std::vector<std::int64_t> values;
    for (std::size_t i = 0; i < size; ++i) {
      values.push_back((i % 2 == 0 ? 1 : -1) * std::int64_t{1} << (3 * i));
    }
    EXPECT_EQ(in_both([&](RespWriter& w) { w.integers(values); }), in_both([&](RespWriter& w) {
                w.array(values.size());
                for (const std::int64_t value : values) w.integer(value);
              }));
  }
}

TEST(RespWriter, RemovesLineEndsFromAnError) {
  EXPECT_EQ(in_both([](RespWriter& w) { w.error("ERR a\r\n+OK\r\n"); }), "-ERR a  +OK  \r\n");
}

TEST(RespWriter, WritesTypesOfVersion3AsVersion2Has) {
  const auto two = [](auto write) { return written(RespVersion::resp2, write); };
  const auto three = [](auto write) { return written(RespVersion::resp3, write); };
  const auto null = [](RespWriter& w) { w.null(); };
  EXPECT_EQ(two(null), "$-1\r\n");
  EXPECT_EQ(three(null), "_\r\n");
  const auto map = [](RespWriter& w) { w.map(3); };
  EXPECT_EQ(two(map), "*6\r\n");
  EXPECT_EQ(three(map), "%3\r\n");
  const auto set = [](RespWriter& w) { w.set(3); };
  EXPECT_EQ(two(set), "*3\r\n");
  EXPECT_EQ(three(set), "~3\r\n");
  const auto real = [](double value) { return [value](RespWriter& w) { w.real(value); }; };
  EXPECT_EQ(two(real(1.5)), "$3\r\n1.5\r\n");
  EXPECT_EQ(three(real(1.5)), ",1.5\r\n");
  EXPECT_EQ(three(real(-HUGE_VAL)), ",-inf\r\n");
  EXPECT_EQ(three(real(NAN)), ",nan\r\n");
}

}  // namespace
}  // namespace headgate::net
