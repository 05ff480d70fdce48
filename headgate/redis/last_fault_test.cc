#include "headgate/redis/last_fault.h"

#include <gtest/gtest.h>

namespace headgate::redis {
namespace {

TEST(LastFault, IsPrintable) {
  LastFault fault;
  EXPECT_EQ(fault.text(), "");
  fault.note("a:1: WRONGTYPE \x1b[31m\xc3\xa4");
  EXPECT_EQ(fault.text(), "a:1: WRONGTYPE \\x1b[31m\\xc3\\xa4");
}

TEST(LastFault, HasNoKeysOfClients) {
  LastFault fault;
  fault.note(
      "a:1: ERR unknown command 'EVALSHA', with args beginning with: 'da64' '1' 'hg:api{k}'");
  EXPECT_EQ(fault.text(), "a:1: ERR unknown command 'EVALSHA'");
}

}  // namespace
}  // namespace headgate::redis
