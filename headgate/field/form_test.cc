#include "headgate/field/form.h"

#include <gtest/gtest.h>

namespace headgate::field {
namespace {

TEST(Form, CanBeSentTogetherIfTheyShareNoField) {
  using enum Form;
  constexpr Form all[] = {ratelimit, draft_07, draft_06, draft_03, x_ratelimit};
  // Which forms share a field, in the order of `all`.
  constexpr bool shared[5][5] = {{true, true, true, false, false},
                                 {true, true, true, false, false},
                                 {true, true, true, true, false},
                                 {false, false, true, true, false},
                                 {false, false, false, false, true}};
  for (std::size_t i = 0; i < 5; ++i) {
    for (std::size_t j = 0; j < 5; ++j) {
      EXPECT_EQ(shared_field(all[i], all[j]).has_value(), shared[i][j]) << i << ' ' << j;
    }
  }
  EXPECT_EQ(shared_field(ratelimit, draft_06), "RateLimit-Policy");
  EXPECT_EQ(shared_field(draft_06, draft_03), "RateLimit-Limit");
}

}  // namespace
}  // namespace headgate::field
