// Received bytes are kept until they are not needed any more, and take no memory afterwards.

#include "headgate/server/input_buffer.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <string>

namespace headgate::server {
namespace {

TEST(InputBuffer, KeepsWhatIsStillNeeded) {
  EXPECT_TRUE(rc::check([] {
    std::array<char, 256> shared{};
    InputBuffer buffer;
    std::string expected;
    for (int i = 0; i < 50; ++i) {
      const auto chunk = *rc::gen::container<std::string>(rc::gen::arbitrary<char>());
      const std::span<char> room = buffer.room(shared);
      const std::size_t size = std::min(chunk.size(), room.size());
      RC_ASSERT(room.size() > 0u);
      std::copy_n(chunk.begin(), size, room.begin());
      expected += chunk.substr(0, size);

      const std::string_view all = buffer.received(size, shared);
      RC_ASSERT(all == expected);
      const auto done = *rc::gen::inRange<std::size_t>(0, all.size() + 1);
      buffer.keep(all.substr(done));
      expected.erase(0, done);
      shared.fill('?');  // another connection's turn
      RC_ASSERT(buffer.pending() == expected);
    }
  }));
}

TEST(InputBuffer, ReceivesIntoSharedMemoryWhileItIsEmpty) {
  std::array<char, 16> shared{};
  InputBuffer buffer;
  EXPECT_EQ(buffer.room(shared).data(), shared.data());
  buffer.keep(buffer.received(5, shared));
  EXPECT_NE(buffer.room(shared).data(), shared.data());
  buffer.keep({});
  EXPECT_EQ(buffer.room(shared).data(), shared.data());
}

TEST(InputBuffer, ReceivesNoMoreThanMayBeKept) {
  std::array<char, 16> shared{};
  InputBuffer buffer;
  EXPECT_EQ(buffer.room(shared, 20).size(), 16u);
  EXPECT_EQ(buffer.room(shared, 10).size(), 10u);
  buffer.keep(buffer.received(10, shared));
  EXPECT_EQ(buffer.room(shared, 13).size(), 3u);
  EXPECT_GT(buffer.room(shared, 10).size(), 3u) << "it is for the caller to end that";
}

TEST(InputBuffer, GrowsSoThatLongInputIsNotCopiedAgainAndAgain) {
  std::array<char, 16> shared{};
  InputBuffer buffer;
  buffer.keep(buffer.received(16, shared));
  int moves = 0;
  const char* at = buffer.pending().data();
  for (int i = 0; i < 1 << 20; ++i) {
    buffer.room(shared)[0] = 'x';
    buffer.keep(buffer.received(1, shared));
    if (buffer.pending().data() != at) ++moves;
    at = buffer.pending().data();
  }
  EXPECT_LT(moves, 20);
}

}  // namespace
}  // namespace headgate::server
