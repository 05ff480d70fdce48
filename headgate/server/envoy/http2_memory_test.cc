#include "headgate/server/envoy/http2_memory.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "headgate/server/envoy/frame_budget.h"

namespace headgate::server {
namespace {

// Takes blocks of this size until there are no more, and returns how many bytes they have.
std::size_t fill(Http2Memory& memory, std::vector<void*>& blocks, std::size_t size) {
  const std::size_t before = memory.used();
  while (void* block = memory.resize(nullptr, size)) blocks.push_back(block);
  return memory.used() - before;
}

TEST(Http2Memory, IsCounted) {
  Http2MemoryPool pool(0);
  Http2Memory memory(pool);
  void* block = memory.resize(nullptr, 100);
  EXPECT_GE(memory.used(), 100);
  block = memory.resize(block, 5000);
  EXPECT_GE(memory.used(), 5000);
  block = memory.resize(block, 10);
  EXPECT_LT(memory.used(), 5000);
  memory.release(block);
  EXPECT_EQ(memory.used(), 0);
  {
    Http2String text{Http2Allocator<char>(memory)};
    text.assign(1000, 'x');
    EXPECT_GE(memory.used(), 1000);
    EXPECT_THROW(text.assign(Http2Memory::own, 'x'), std::bad_alloc);
  }
  EXPECT_EQ(memory.used(), 0);
}

TEST(Http2Memory, TheBoundHoldsAlsoForWhatTheAllocatorRoundsUp) {
  Http2MemoryPool pool(0);
  for (std::size_t size = 1; size < 200; ++size) {
    Http2Memory memory(pool);
    std::vector<void*> blocks;
    EXPECT_LE(fill(memory, blocks, size), Http2Memory::own) << size;
    for (void* block : blocks) memory.release(block);
  }
}

TEST(Http2Memory, EveryConnectionHasItsOwnAndOnlyTrustedOnesShareTheRest) {
  constexpr std::size_t shared = std::size_t{1} << 20;
  constexpr std::size_t block = 1000;
  Http2MemoryPool pool(shared);
  std::vector<std::unique_ptr<Http2Memory>> connections;
  std::vector<std::vector<void*>> blocks(4);
  std::size_t beyond = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    connections.push_back(std::make_unique<Http2Memory>(pool));
    Http2Memory& memory = *connections.back();
    if (i > 0) memory.trust(true);
    const std::size_t got = fill(memory, blocks[i], block);
    EXPECT_LE(got, i == 0 ? Http2Memory::own : Http2Memory::most);
    EXPECT_GT(got, Http2Memory::own - 2 * block);
    beyond += got > Http2Memory::own ? got - Http2Memory::own : 0;
  }
  EXPECT_LE(beyond, shared);
  EXPECT_GT(beyond, shared - 4 * block);
  for (void* one : blocks[1]) connections[1]->release(one);
  blocks[1].clear();
  EXPECT_GT(fill(*connections[3], blocks[3], block), shared / 2) << "is given back";
  for (const std::size_t i : {0, 2, 3}) {
    for (void* one : blocks[i]) connections[i]->release(one);
    EXPECT_EQ(connections[i]->used(), 0);
  }
}

TEST(Http2Memory, AConnectionThatIsNotTrustedAnyMoreGetsNoMore) {
  constexpr std::size_t block = 1000;
  Http2MemoryPool pool(Http2Memory::most);
  Http2Memory memory(pool);
  memory.trust(true);
  std::vector<void*> blocks;
  EXPECT_GT(fill(memory, blocks, block), Http2Memory::own);
  memory.release(blocks.back());
  blocks.pop_back();
  memory.trust(false);
  EXPECT_EQ(memory.resize(nullptr, block), nullptr);
  for (void* one : blocks) memory.release(one);
}

TEST(FrameBudget, IsSpentByFramesAndBytes) {
  FrameBudget budget(0);
  for (std::uint32_t i = 0; i < FrameBudget::most; ++i) ASSERT_TRUE(budget.take_frame(0));
  EXPECT_FALSE(budget.take_frame(0));
  EXPECT_TRUE(budget.take_bytes(0, 0));
  EXPECT_FALSE(budget.take_bytes(1, 0));
}

TEST(FrameBudget, GrowsWithTimeAndAnsweredCallsUpToItsMost) {
  FrameBudget budget(7);
  while (budget.take_frame(7)) {
  }
  EXPECT_TRUE(budget.take_bytes(std::size_t{FrameBudget::per_second} << 10, 8));
  EXPECT_FALSE(budget.take_frame(8));
  budget.answered();
  EXPECT_TRUE(budget.take_bytes(std::size_t{FrameBudget::per_call} << 10, 8));
  EXPECT_FALSE(budget.take_frame(8));
  EXPECT_TRUE(budget.take_bytes(std::size_t{FrameBudget::most} << 10, 1'000'000'000'000));
  EXPECT_FALSE(budget.take_frame(1'000'000'000'000));
}

}  // namespace
}  // namespace headgate::server
