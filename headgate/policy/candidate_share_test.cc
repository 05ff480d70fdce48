#include "headgate/policy/candidate_share.h"

#include <gtest/gtest.h>

#include <string>

namespace headgate::policy {
namespace {

// The store key of an address under the policy "burst".
std::string key_of(const std::string& address) {
  return "\5burst" + std::string(1, static_cast<char>(address.size())) + address;
}

TEST(CandidateShare, IsTheSameEverywhere) {
  // Where a key's place is, computed by another program: the share from which on it is in.
  EXPECT_FALSE(is_in_share(key_of("10.0.0.1"), 81));
  EXPECT_TRUE(is_in_share(key_of("10.0.0.1"), 82));
  EXPECT_FALSE(is_in_share(key_of("10.0.0.3"), 6));
  EXPECT_TRUE(is_in_share(key_of("10.0.0.3"), 7));
  EXPECT_FALSE(is_in_share(key_of("10.0.0.12"), 39));
  EXPECT_TRUE(is_in_share(key_of("10.0.0.12"), 40));
}

TEST(CandidateShare, IsOfAllKeysAndKeepsThemAsItGrows) {
  constexpr unsigned keys = 100'000;
  for (const unsigned percent : {0u, 1u, 10u, 50u, 99u, 100u}) {
    unsigned in = 0;
    for (unsigned i = 0; i < keys; ++i) {
      const std::string key = key_of(std::to_string(i));
      const bool is_in = is_in_share(key, percent);
      in += is_in ? 1 : 0;
      if (is_in && percent < 100) {
        ASSERT_TRUE(is_in_share(key, percent + 1)) << key;
      }
    }
    // 5 standard deviations of a fair choice are 0.8%.
    EXPECT_NEAR(in, keys / 100.0 * percent, percent % 100 == 0 ? 0.0 : 0.008 * keys) << percent;
  }
}

}  // namespace
}  // namespace headgate::policy
