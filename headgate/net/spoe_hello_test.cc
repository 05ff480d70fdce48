#include "headgate/net/spoe_hello.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "headgate/net/spoe_data.h"

namespace headgate::net {
namespace {

class Hello {
 public:
  Hello& item(std::string_view name, const SpoeValue& value) {
    append_spoe_text(payload_, name);
    append_spoe_value(payload_, value);
    return *this;
  }
  Hello& text(std::string_view name, std::string_view value) {
    return item(name, {SpoeType::string, 0, value});
  }
  Hello& size(std::uint64_t bytes) { return item("max-frame-size", {SpoeType::uint32, bytes, {}}); }

  [[nodiscard]] Result<SpoeHello, SpoeFault> read() const {
    SpoeFrame frame;
    frame.type = SpoeFrameType::haproxy_hello;
    frame.payload = payload_;
    return SpoeHello::read(frame);
  }
  [[nodiscard]] SpoeStatus status() const { return read().error().status; }

 private:
  std::string payload_;
};

Hello whole() {
  return Hello().text("supported-versions", "2.0").size(16380).text("capabilities", "");
}

TEST(SpoeHello, ReadsWhatHaproxyStates) {
  const auto read = Hello()
                        .text("supported-versions", "3.1, 2.0")
                        .size(16380)
                        .text("capabilities", "async , pipelining")
                        .item("healthcheck", {SpoeType::boolean, 1, {}})
                        .text("engine-id", "any")
                        .read();
  ASSERT_TRUE(read);
  EXPECT_EQ(read->frame_max, 16380u);
  EXPECT_TRUE(read->pipelining);
  EXPECT_TRUE(read->healthcheck);
  EXPECT_FALSE(whole().read()->pipelining);
  EXPECT_FALSE(whole().read()->healthcheck);
  EXPECT_EQ(whole().size(~std::uint64_t{0}).read()->frame_max, 0xffffffffu);
}

TEST(SpoeHello, NamesWhatIsMissing) {
  EXPECT_EQ(Hello().size(256).text("capabilities", "").status(), SpoeStatus::no_version);
  EXPECT_EQ(Hello().text("supported-versions", "2.0").text("capabilities", "").status(),
            SpoeStatus::no_frame_size);
  EXPECT_EQ(Hello().text("supported-versions", "2.0").size(256).status(),
            SpoeStatus::no_capabilities);
}

TEST(SpoeHello, RefusesWhatItCannotSpeak) {
  EXPECT_EQ(whole().text("supported-versions", "1.0, 3.0").status(), SpoeStatus::bad_version);
  EXPECT_EQ(whole().size(255).status(), SpoeStatus::bad_frame_size);
}

TEST(SpoeHello, RefusesWrongTypesAndMalformedItems) {
  EXPECT_EQ(whole().item("capabilities", {SpoeType::uint32, 1, {}}).status(), SpoeStatus::invalid);
  EXPECT_EQ(whole().text("max-frame-size", "256").status(), SpoeStatus::invalid);
  EXPECT_EQ(whole().text("healthcheck", "yes").status(), SpoeStatus::invalid);
  SpoeFrame frame;
  frame.type = SpoeFrameType::haproxy_hello;
  frame.payload =
      "\x05"
      "cut";
  EXPECT_EQ(SpoeHello::read(frame).error().status, SpoeStatus::invalid);
  frame.payload = {};
  frame.stream_id = 1;
  EXPECT_EQ(SpoeHello::read(frame).error().status, SpoeStatus::invalid);
  frame = {};
  frame.type = SpoeFrameType::notify;
  EXPECT_EQ(SpoeHello::read(frame).error().status, SpoeStatus::invalid);
}

}  // namespace
}  // namespace headgate::net
