// The reader returns the same replies however the stream is cut, and refuses hostile streams early.

#include "headgate/net/resp_reply_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/base/testing/allocations.h"

namespace headgate::net {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Found = RespReplyReader::Found;

// A reply as one line: texts in quotes, arrays in brackets.
std::string shown(const RespReply& reply) {
  switch (reply->type) {
    case RespValue::Type::text:
      return '"' + std::string(reply->text) + '"';
    case RespValue::Type::error:
      return '!' + std::string(reply->text);
    case RespValue::Type::integer:
      return std::to_string(reply->number);
    case RespValue::Type::null:
      return "null";
    case RespValue::Type::array:
      break;
  }
  std::string text = "[";
  reply.for_each([&](const RespReply& element) { text += shown(element) + ' '; });
  return text + ']';
}

// The replies of a stream that arrives in these chunks, and then what is wrong with it. The reader
// is given an exact-size copy, so that AddressSanitizer reports a read of any other byte.
std::vector<std::string> read(const std::vector<std::string_view>& chunks,
                              const RespReplyLimits& limits = {}) {
  RespReplyReader reader(limits);
  std::vector<std::string> replies;
  std::string kept;
  for (const std::string_view chunk : chunks) {
    kept += chunk;
    const auto copy = std::make_unique<char[]>(kept.size());
    std::copy(kept.begin(), kept.end(), copy.get());
    std::string_view bytes(copy.get(), kept.size());
    Found found = Found::more;
    while ((found = reader.read(bytes)) == Found::reply) {
      replies.push_back(shown(reader.reply()));
      bytes.remove_prefix(reader.used());
    }
    if (found == Found::fault) {
      replies.push_back(reader.fault());
      return replies;
    }
    kept = bytes;
  }
  return replies;
}

std::string fault_of(std::string_view stream, const RespReplyLimits& limits = {}) {
  const auto replies = read({stream}, limits);
  return replies.empty() ? "" : replies.back();
}

constexpr std::string_view all_types =
    "+OK\r\n-NOSCRIPT No matching script\r\n:-42\r\n$3\r\na\r\n\r\n$0\r\n\r\n$-1\r\n*-1\r\n*0\r\n"
    "*3\r\n*2\r\n:1\r\n*0\r\n$-1\r\n*1\r\n*1\r\n+deep\r\n";

TEST(RespReplyReader, ReadsEveryTypeHoweverTheStreamIsCut) {
  const auto whole = read({all_types});
  EXPECT_THAT(whole, ElementsAre("\"OK\"", "!NOSCRIPT No matching script", "-42", "\"a\r\n\"",
                                 "\"\"", "null", "null", "[]", "[[1 [] ] null [[\"deep\" ] ] ]"));
  std::vector<std::string_view> bytes;
  for (std::size_t i = 0; i < all_types.size(); ++i) bytes.push_back(all_types.substr(i, 1));
  EXPECT_EQ(read(bytes), whole);
}

TEST(RespReplyReader, ReadsTheSameHoweverAnyStreamIsCut) {
  rc::check([] {
    const auto stream = *rc::gen::container<std::string>(
        rc::gen::element('+', '-', ':', '$', '*', '0', '1', '2', '3', '\r', '\n', 'x'));
    const auto middle = *rc::gen::inRange<std::size_t>(0, stream.size() + 1);
    const std::string_view view = stream;
    RC_ASSERT(read({view.substr(0, middle), view.substr(middle)}) == read({view}));
  });
}

TEST(RespReplyReader, SaysWhatIsWrong) {
  EXPECT_THAT(fault_of(":x\r\n"), HasSubstr("expected a number"));
  EXPECT_THAT(fault_of(":1 \r\n"), HasSubstr("expected a number"));
  EXPECT_THAT(fault_of("$-2\r\n"), HasSubstr("expected a length"));
  EXPECT_THAT(fault_of("?1\r\n"), HasSubstr("unknown type"));
  EXPECT_THAT(fault_of("+OK\n"), HasSubstr("CR LF"));
  EXPECT_THAT(fault_of("\n"), HasSubstr("CR LF"));
  EXPECT_THAT(fault_of("$1\r\nab\r\n"), HasSubstr("CR LF behind a text"));
}

TEST(RespReplyReader, RefusesWhatIsTooLargeWithoutWaitingForIt) {
  const RespReplyLimits limits{.values_max = 4, .depth_max = 2, .reply_max = 64};
  EXPECT_THAT(fault_of("$999\r\n", limits), HasSubstr("too long"));
  EXPECT_THAT(fault_of("*5\r\n", limits), HasSubstr("too many values"));
  EXPECT_THAT(fault_of("*3\r\n*2\r\n:1\r\n:2\r\n:3\r\n", limits), HasSubstr("too many values"));
  EXPECT_THAT(fault_of("*1\r\n*1\r\n*1\r\n", limits), HasSubstr("nested too deeply"));
  EXPECT_THAT(fault_of("+" + std::string(70'000, 'x')), HasSubstr("CR LF"));
  EXPECT_THAT(fault_of("*9223372036854775807\r\n"), HasSubstr("too many values"));
  EXPECT_THAT(fault_of("$9223372036854775807\r\n"), HasSubstr("too long"));
}

TEST(RespReplyReader, AllocatesNothingOnceItIsWarm) {
  RespReplyReader reader;
  const std::string_view stream = "*4\r\n$10\r\n1700000000\r\n$6\r\n123456\r\n:1\r\n$-1\r\n";
  ASSERT_EQ(reader.read(stream), Found::reply);
  const std::size_t before = allocations();
  ASSERT_EQ(reader.read(stream), Found::reply);
  EXPECT_EQ(reader.reply().size(), 4u);
  EXPECT_EQ(allocations(), before);
}

}  // namespace
}  // namespace headgate::net
