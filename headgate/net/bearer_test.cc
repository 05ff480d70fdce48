#include "headgate/net/bearer.h"

#include <gtest/gtest.h>

namespace headgate::net {
namespace {

TEST(Bearer, IsReadInAnyCaseAndWithoutSpaces) {
  for (const char* const shown : {"Bearer abc", "bearer abc", "BEARER abc", "Bearer  \tabc \t"}) {
    EXPECT_EQ(bearer_token(shown), "abc") << shown;
  }
  EXPECT_EQ(bearer_token("Bearer "), "");
  EXPECT_EQ(bearer_token("Bearer a b"), "a b");
}

TEST(Bearer, IsTheOnlyScheme) {
  for (const char* const other : {"", "abc", "Bearer", "Bearerabc", "Bearer\tabc", " Bearer abc",
                                  "Basic abc", "Basic Bearer abc"}) {
    EXPECT_EQ(bearer_token(other), std::nullopt) << other;
  }
}

}  // namespace
}  // namespace headgate::net
