#include "headgate/server/crowd.h"

#include <gtest/gtest.h>

namespace headgate::server {
namespace {

struct Stranger {
  explicit Stranger(Source source) { place.source = source; }
  Crowd::Place place{this};
};

TEST(Crowd, TheFirstOfTheLargestSourceGoes) {
  Crowd crowd;
  Stranger alone(0);
  Stranger first(255);
  Stranger second(255);
  Stranger third(255);
  for (Stranger* const each : {&alone, &first, &second, &third}) crowd.add(each->place);
  EXPECT_EQ(crowd.first_to_go(), &first);
  crowd.remove(first.place);
  crowd.add(first.place);  // it did something
  EXPECT_EQ(crowd.first_to_go(), &second);
  crowd.remove(second.place);
  EXPECT_EQ(crowd.first_to_go(), &third);
  crowd.remove(third.place);
  crowd.remove(first.place);
  EXPECT_EQ(crowd.first_to_go(), &alone);
}

}  // namespace
}  // namespace headgate::server
