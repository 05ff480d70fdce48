#include "headgate/net/spoe_messages.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <memory>
#include <string>

namespace headgate::net {
namespace {

TEST(SpoeMessages, ReadsEach) {
  std::string payload;
  append_spoe_text(payload, "first");
  payload.push_back(2);
  append_spoe_text(payload, "method");
  append_spoe_value(payload, {SpoeType::string, 0, "GET"});
  append_spoe_text(payload, "");
  append_spoe_value(payload, {});
  append_spoe_text(payload, "second");
  payload.push_back(0);

  SpoeMessages messages;
  messages.begin(payload);
  const auto first = messages.next();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->name, "first");
  EXPECT_EQ(first->arguments.size(), 2u);
  ASSERT_NE(first->find("method"), nullptr);
  EXPECT_EQ(first->find("method")->bytes, "GET");
  EXPECT_EQ(first->find("path"), nullptr);
  const auto second = messages.next();
  ASSERT_TRUE(second);
  EXPECT_EQ(second->name, "second");
  EXPECT_TRUE(second->arguments.empty());
  EXPECT_TRUE(messages.at_end());
  for (std::size_t size = 1; size < payload.size(); ++size) {  // cut
    messages.begin(std::string_view(payload).substr(0, size));
    unsigned read = 0;
    while (!messages.at_end() && messages.next()) ++read;
    EXPECT_LE(read, 1u);
  }
}

TEST(SpoeMessages, AnyBytesAreReadWithinTheirLimits) {
  SpoeMessages messages;
  rc::check([&](const std::string& bytes) {
    const auto copy = std::make_unique<char[]>(bytes.size());
    bytes.copy(copy.get(), bytes.size());
    messages.begin({copy.get(), bytes.size()});
    while (!messages.at_end() && messages.next()) {
    }
  });
}

}  // namespace
}  // namespace headgate::net
