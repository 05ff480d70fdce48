#include "headgate/net/spoe_writer.h"

#include <gtest/gtest.h>

#include <string>

namespace headgate::net {
namespace {

using namespace std::string_view_literals;

TEST(SpoeWriter, WritesFramesAsTheProtocolSays) {
  std::string out;
  SpoeWriter writer(out, 16380);
  writer.hello(16380, true);
  EXPECT_EQ(out,
            "\x00\x00\x00\x4e\x65\x00\x00\x00\x01\x00\x00"
            "\x07version\x08\x03"
            "2.0"
            "\x0emax-frame-size\x03\xfc\xf0\x06"
            "\x0c"
            "capabilities\x08\x18"
            "fragmentation,pipelining"sv);
  out.clear();
  writer.disconnect({SpoeStatus::too_big, "too big"});
  EXPECT_EQ(out,
            "\x00\x00\x00\x26\x66\x00\x00\x00\x01\x00\x00"
            "\x0bstatus-code\x03\x03"
            "\x07message\x08\x07too big"sv);
  out.clear();
  writer.begin_ack(300, 1);
  EXPECT_TRUE(writer.set_variable("a", "text"));
  EXPECT_TRUE(writer.set_variable("b", 7));
  EXPECT_TRUE(writer.unset_variable("c"));
  writer.end_ack();
  EXPECT_EQ(out,
            "\x00\x00\x00\x1f\x67\x00\x00\x00\x01\xfc\x03\x01"
            "\x01\x03\x02\x01"
            "a\x08\x04text"
            "\x01\x03\x02\x01"
            "b\x05\x07"
            "\x02\x02\x02\x01"
            "c"sv);
}

TEST(SpoeWriter, LeavesOutWhatDoesNotFit) {
  std::string out = "before";
  SpoeWriter writer(out, spoe_frame_min);
  writer.begin_ack(1, 1);
  EXPECT_TRUE(writer.set_variable("a", std::string(200, 'x')));
  EXPECT_FALSE(writer.set_variable("b", std::string(100, 'x')));
  EXPECT_TRUE(writer.set_variable("c", 1));
  writer.end_ack();
  EXPECT_LE(out.size(), 6 + 4 + spoe_frame_min);
  EXPECT_EQ(out.find('b', 6), std::string::npos);
  EXPECT_NE(out.find('c', 6), std::string::npos);
}

}  // namespace
}  // namespace headgate::net
