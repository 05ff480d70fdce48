// The reader returns the same frames however the stream is cut, joins fragments within bounds, and
// names every fault as the protocol does.

#include "headgate/net/spoe_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/net/testing/spoe_frames.h"

namespace headgate::net {
namespace {

using testing::ElementsAre;
using Found = SpoeReader::Found;
using Type = SpoeFrameType;

constexpr std::uint32_t fin = SpoeFrame::fin;
constexpr std::uint32_t abort_and_fin = SpoeFrame::fin | SpoeFrame::abort;

struct ReadStream {
  std::vector<std::string> payloads;  // of the frames, "too long" in place of one that was
  SpoeStatus status = SpoeStatus::normal;
  std::size_t kept_most = 0;
};

ReadStream read_chunks(const std::vector<std::string_view>& chunks,
                       std::uint32_t frame_max = 1000) {
  SpoeReader reader;
  reader.greet(frame_max);
  ReadStream read;
  std::string kept;
  for (const std::string_view chunk : chunks) {
    kept += chunk;
    const auto copy = std::make_unique<char[]>(kept.size());
    kept.copy(copy.get(), kept.size());
    std::string_view bytes(copy.get(), kept.size());
    for (Found found = Found::frame; found != Found::more;) {
      found = reader.read(bytes);
      if (found == Found::fault) {
        read.status = reader.fault().status;
        EXPECT_LT(reader.fault().what.size(), 255u);
        return read;
      }
      if (found == Found::frame) read.payloads.emplace_back(reader.frame().payload);
      if (found == Found::too_long) {
        EXPECT_EQ(reader.frame().payload.substr(0, 5), "first");
        read.payloads.emplace_back("too long");
      }
      bytes.remove_prefix(reader.used());
    }
    kept = bytes;
    read.kept_most = std::max(read.kept_most, kept.size());
  }
  return read;
}

ReadStream read_whole(const std::string& stream) { return read_chunks({stream}); }

TEST(SpoeReader, ReadsFramesHoweverTheyAreCut) {
  const std::string stream = spoe_frame(Type::notify, fin, 1, 2, "one") +
                             spoe_frame(Type{77}, fin, 0, 0, "unknown, skipped") +
                             spoe_frame(Type::notify, 0, 300, 2, "two ") +
                             spoe_frame(Type::unset, 0, 300, 2, "in ") +
                             spoe_frame(Type::unset, fin, 300, 2, "parts") +
                             spoe_frame(Type::haproxy_disconnect, fin, 0, 0, "");
  EXPECT_THAT(read_whole(stream).payloads, ElementsAre("one", "two in parts", ""));
  rc::check([&](const std::vector<unsigned>& cuts) {
    std::vector<std::string_view> chunks;
    std::string_view rest = stream;
    for (const unsigned cut : cuts) {
      chunks.push_back(rest.substr(0, cut % (rest.size() + 1)));
      rest.remove_prefix(chunks.back().size());
    }
    chunks.push_back(rest);
    RC_ASSERT(read_chunks(chunks).payloads == read_whole(stream).payloads);
  });
}

TEST(SpoeReader, KeepsTheIdsOfFragments) {
  const std::string stream =
      spoe_frame(Type::notify, 0, 300, 7, "a") + spoe_frame(Type::unset, fin, 300, 7, "b");
  SpoeReader reader;
  reader.greet(256);
  ASSERT_EQ(reader.read(stream), Found::frame);
  EXPECT_EQ(reader.frame().type, Type::notify);
  EXPECT_EQ(reader.frame().stream_id, 300u);
  EXPECT_EQ(reader.frame().frame_id, 7u);
  EXPECT_TRUE(reader.frame().is_final());
  EXPECT_EQ(reader.used(), stream.size());
}

TEST(SpoeReader, ForgetsFragmentsThatAreAborted) {
  EXPECT_THAT(read_whole(spoe_frame(Type::notify, 0, 1, 1, "gone") +
                         spoe_frame(Type::unset, abort_and_fin, 1, 1, "") +
                         spoe_frame(Type::notify, fin, 1, 2, "next"))
                  .payloads,
              ElementsAre("next"));
}

TEST(SpoeReader, SkipsTheRestOfTooManyFragments) {
  std::string stream = spoe_frame(Type::notify, 0, 1, 1, "first");
  const std::string part(900, 'x');
  for (std::size_t size = 5; size <= SpoeReader::fragments_most; size += part.size()) {
    stream += spoe_frame(Type::unset, 0, 1, 1, part);
  }
  const std::string next = spoe_frame(Type::notify, fin, 1, 2, "next");
  EXPECT_EQ(read_whole(stream + next).status, SpoeStatus::interlaced);
  const std::string further = spoe_frame(Type::unset, 0, 1, 1, part);
  const std::string last = spoe_frame(Type::unset, fin, 1, 1, part);
  EXPECT_THAT(read_whole(stream + further + last + next).payloads, ElementsAre("too long", "next"));
  const std::string aborted = spoe_frame(Type::unset, abort_and_fin, 1, 1, "");
  EXPECT_THAT(read_whole(stream + further + aborted + next).payloads, ElementsAre("next"));
  EXPECT_EQ(read_whole(stream + last + last).status, SpoeStatus::unknown_frame_id);
}

TEST(SpoeReader, NamesFaults) {
  const std::string first = spoe_frame(Type::notify, 0, 1, 1, "a");
  const auto status = [](const std::string& stream) { return read_whole(stream).status; };
  EXPECT_EQ(status(spoe_number(1001)), SpoeStatus::too_big);
  EXPECT_EQ(status(spoe_number(6) + "123456"), SpoeStatus::invalid);
  EXPECT_EQ(status(spoe_number(7) + "\x03" + spoe_number(1) + "\xff\xff"), SpoeStatus::invalid);
  EXPECT_EQ(status(spoe_frame(Type::unset, fin, 1, 1, "a")), SpoeStatus::unknown_frame_id);
  EXPECT_EQ(status(first + spoe_frame(Type::unset, fin, 1, 2, "a")), SpoeStatus::unknown_frame_id);
  EXPECT_EQ(status(first + spoe_frame(Type::notify, fin, 2, 1, "a")), SpoeStatus::interlaced);
  EXPECT_EQ(status(spoe_frame(Type::haproxy_hello, 0, 0, 0, "a")), SpoeStatus::no_fragments);
}

TEST(SpoeReader, TakesNeitherLongFramesNorFragmentsBeforeTheHandshake) {
  SpoeReader reader;
  EXPECT_EQ(reader.read(spoe_number(SpoeReader::hello_most + 1)), Found::fault);
  EXPECT_EQ(reader.fault().status, SpoeStatus::too_big);
  EXPECT_EQ(reader.read(spoe_frame(Type::notify, 0, 1, 1, "a")), Found::fault);
  EXPECT_EQ(reader.fault().status, SpoeStatus::no_fragments);
}

TEST(SpoeReader, KeepsAtMostOneFrame) {
  rc::check([](const std::vector<std::string>& chunks) {
    std::vector<std::string_view> views(chunks.begin(), chunks.end());
    RC_ASSERT(read_chunks(views).kept_most <= 1000 + 4);
  });
}

}  // namespace
}  // namespace headgate::net
