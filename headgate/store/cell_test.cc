// A cell that other requests change between a read and a swap.

#include "headgate/store/cell.h"

#include <gtest/gtest.h>

namespace headgate::store {
namespace {

constexpr Tag mine = 0x1000 | limit::span_class(nanos_per_second);
constexpr Tag other = 0x2000 | limit::span_class(nanos_per_second);
constexpr std::uint64_t nonce = 77 << 12;

const limit::LinearWhole narrow = limit::LinearWhole::make({10, 10 * nanos_per_second}, {}).value();
const limit::LinearExact sevenths = limit::LinearExact::make({7, nanos_per_second}, {}).value();
const limit::LinearExact elevenths = limit::LinearExact::make({11, nanos_per_second}, {}).value();

template <class Cell>
void hold(Cell& cell, Tag tag, typename Cell::State state, const typename Cell::Law& law) {
  ASSERT_TRUE(cell.claim(cell.read(), tag, nonce));
  ASSERT_TRUE(cell.confirm(tag, nonce, state, law));
  ASSERT_EQ(cell.tag_word(), tag);
}

template <class Cell>
void a_claim_fails_if_the_key_was_charged_since(const typename Cell::Law& law) {
  Cell cell{};
  hold(cell, mine, 1000, law);
  const auto chosen = cell.read();
  ASSERT_TRUE(cell.update(cell.read(), mine, 9000, law));
  EXPECT_FALSE(cell.claim(chosen, other, nonce + 1));
  EXPECT_EQ(cell.tag_word(), mine) << "the key is still there";
  EXPECT_EQ(cell.read().state_for(law), 9000);
}

template <class Cell>
void an_update_fails_if_the_key_was_evicted_since(const typename Cell::Law& law) {
  Cell cell{};
  hold(cell, mine, 1000, law);
  const auto seen = cell.read();
  ASSERT_TRUE(cell.claim(cell.read(), other, nonce + 1));
  if (Cell copy = cell; copy.update(seen, mine, 2000, law)) ADD_FAILURE() << "of a claimed cell";
  ASSERT_TRUE(cell.confirm(other, nonce + 1, 1000, law));
  EXPECT_FALSE(cell.update(seen, mine, 2000, law)) << "though the new key has the same state";
  EXPECT_EQ(cell.read().state_for(law), 1000);
}

template <class Cell>
void a_claim_is_lost_to_a_later_claim(const typename Cell::Law& law) {
  Cell cell{};
  ASSERT_TRUE(cell.claim(cell.read(), mine, nonce));
  ASSERT_TRUE(cell.claim(cell.read(), other, nonce + 1));
  EXPECT_FALSE(cell.confirm(mine, nonce, 1000, law));
  EXPECT_FALSE(cell.withdraw(mine, nonce));
  EXPECT_TRUE(cell.confirm(other, nonce + 1, 2000, law));
  EXPECT_EQ(cell.read().state_for(law), 2000);
}

TEST(NarrowCell, AClaimFailsIfTheKeyWasChargedSince) {
  a_claim_fails_if_the_key_was_charged_since<NarrowCell>(narrow);
}
TEST(NarrowCell, AnUpdateFailsIfTheKeyWasEvictedSince) {
  an_update_fails_if_the_key_was_evicted_since<NarrowCell>(narrow);
}
TEST(NarrowCell, AClaimIsLostToALaterClaim) {
  a_claim_is_lost_to_a_later_claim<NarrowCell>(narrow);
}
TEST(WideCell, AClaimFailsIfTheKeyWasChargedSince) {
  a_claim_fails_if_the_key_was_charged_since<WideCell>(sevenths);
}
TEST(WideCell, AnUpdateFailsIfTheKeyWasEvictedSince) {
  an_update_fails_if_the_key_was_evicted_since<WideCell>(sevenths);
}
TEST(WideCell, AClaimIsLostToALaterClaim) { a_claim_is_lost_to_a_later_claim<WideCell>(sevenths); }

TEST(WideCell, AfterAnInterruptedEvictionTheKeyCanBeInsertedAgain) {
  WideCell cell{};
  hold(cell, mine, 7000, sevenths);
  const WideCell::Seen before = cell.read();
  // clear() evicts first; a process killed after that leaves the owner as it was.
  ASSERT_TRUE(cell.clear(before));
  EXPECT_TRUE(cell.read().empty());
  hold(cell, mine, 7000, sevenths);
  EXPECT_FALSE(cell.clear(before)) << "the same key, state and cell, but held anew";
  EXPECT_EQ(cell.tag_word(), mine);
}

TEST(WideCell, AnotherScaleKeepsTheKey) {
  WideCell cell{};
  hold(cell, mine, 7000, sevenths);  // 1000 ns
  ASSERT_TRUE(cell.read().fits(sevenths));
  ASSERT_FALSE(cell.read().fits(elevenths));
  EXPECT_EQ(cell.read().state_for(elevenths), 11000);
  ASSERT_TRUE(cell.update(cell.read(), mine, 11005, elevenths));
  EXPECT_EQ(cell.tag_word(), mine);
  EXPECT_EQ(cell.read().full_at(), 1001) << "rounded up to a nanosecond";
  EXPECT_EQ(cell.read().state_for(sevenths), 7007) << "also under the former law";
  const WideCell::Seen stale = cell.read();
  ASSERT_TRUE(cell.update(cell.read(), mine, 7014, sevenths));
  EXPECT_FALSE(cell.update(stale, mine, 11011, elevenths));
  EXPECT_EQ(cell.read().full_at(), 1002);
}

template <class Cell>
void an_update_takes_the_class_of_another_window(const typename Cell::Law& law) {
  constexpr Tag longer = (mine & ~class_mask) | limit::span_class(3600 * nanos_per_second);
  Cell cell{};
  hold(cell, mine, 1000, law);
  const auto before = cell.read();
  ASSERT_TRUE(cell.update(before, longer, 2000, law));
  EXPECT_EQ(cell.tag_word(), longer);
  EXPECT_TRUE(same_key(cell.tag_word(), mine));
  EXPECT_EQ(cell.read().state_for(law), 2000);
  EXPECT_GT(kept_until(longer, 2000), 3600 * nanos_per_second);
  EXPECT_FALSE(cell.update(before, mine, 3000, law));
  EXPECT_TRUE(cell.update(cell.read(), longer, 3000, law));
}

TEST(NarrowCell, AnUpdateTakesTheClassOfAnotherWindow) {
  an_update_takes_the_class_of_another_window<NarrowCell>(narrow);
}
TEST(WideCell, AnUpdateTakesTheClassOfAnotherWindow) {
  an_update_takes_the_class_of_another_window<WideCell>(sevenths);
}

TEST(WideCell, HoldsTheLargestStates) {
  WideCell cell{};
  const limit::LinearExact law =
      limit::LinearExact::make({limit::Quota::units_max - 2, 36525 * 864 * nanos_per_second * 100},
                               {})
          .value();
  const i128 far = (i128{1} << 118) + 12345;
  hold(cell, mine, far, law);
  EXPECT_EQ(cell.read().state_for(law), far);
  ASSERT_TRUE(cell.update(cell.read(), mine, -far, law));
  EXPECT_EQ(cell.read().state_for(law), -far);
  EXPECT_FALSE(cell.read().evicted());
}

}  // namespace
}  // namespace headgate::store
