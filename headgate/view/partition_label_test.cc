#include "headgate/view/partition_label.h"

#include <gtest/gtest.h>

#include <array>

namespace headgate::view {
namespace {

constexpr Hash128 hash{0x0807060504030201, 0x100f0e0d0c0b0a09};

std::string plain(std::string_view policy, std::string_view key, const Hash128& client = hash) {
  std::array<char, TopSketch::label_max> room;
  return {room.data(), write_plain_label(policy, key, client, room.data())};
}

std::string opaque(std::string_view policy) {
  std::array<char, TopSketch::label_max> room;
  return {room.data(), write_opaque_label(policy, hash, {0xab, 0}, room.data())};
}

TEST(PartitionLabel, ShowsAKey) {
  const PartitionLabel label = read_label(plain("burst", "10.0.0.2"));
  EXPECT_EQ(label.policy, "burst");
  EXPECT_EQ(label.key, "10.0.0.2");
  EXPECT_EQ(label.client, "");
  EXPECT_EQ(read_label(plain("all", "")).key, "");
}

TEST(PartitionLabel, ShowsWhatStandsForAKey) {
  const PartitionLabel label = read_label(opaque("burst"));
  EXPECT_EQ(label.policy, "burst");
  EXPECT_EQ(label.key, ":AQIDBAUGBwgJCgsMDQ4PEA==:");
  EXPECT_EQ(label.client, "ab" + std::string(30, '0'));
}

TEST(PartitionLabel, MakesBytesHarmless) {
  const std::string_view hostile("\x1b]0;x\a<b>\n\\\xc3\xa9\0", 14);
  EXPECT_EQ(read_label(plain("p", hostile)).key, "\\x1b]0;x\\x07<b>\\x0a\\\\\\xc3\\xa9\\x00");
}

TEST(PartitionLabel, CutsLongKeysAndKeepsThemDifferent) {
  const std::string policy(64, 'p');
  const std::string longest(126, 'k');
  EXPECT_EQ(read_label(plain(policy, longest)).key, longest);
  EXPECT_EQ(read_label(plain(policy, longest)).policy, policy);

  const std::string longer(4000, 'k');
  EXPECT_EQ(read_label(plain(policy, longer)).key, std::string(110, 'k') + "...#01020304");
  EXPECT_EQ(read_label(plain(policy, longer, {5, 6})).key, std::string(110, 'k') + "...#05000000");
}

TEST(PartitionLabel, CutsPoliciesThatAreTooLong) {
  EXPECT_EQ(read_label(plain(std::string(500, 'p'), "k")).policy, std::string(64, 'p'));
  EXPECT_EQ(read_label(opaque(std::string(500, 'p'))).policy, std::string(64, 'p'));
}

}  // namespace
}  // namespace headgate::view
