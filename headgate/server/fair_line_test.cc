#include "headgate/server/fair_line.h"

#include <gtest/gtest.h>

#include <list>
#include <string>
#include <utility>

namespace headgate::server {
namespace {

class FairLineTest : public ::testing::Test {
 protected:
  // A place with a name, in the line.
  struct Waiting {
    Waiting(std::string its_name, Source source) : name(std::move(its_name)) {
      place.source = source;
    }
    std::string name;
    FairLine::Place place{this};
  };

  Waiting& wait(const std::string& name, Source source) {
    Waiting& waiting = all_.emplace_back(name, source);
    line_.push(waiting.place);
    return waiting;
  }
  // The names of those that have their turn, until there is none.
  std::string serve_all() {
    std::string names;
    while (const FairLine::Place* const next = line_.pop()) {
      names += static_cast<const Waiting*>(next->who)->name;
    }
    EXPECT_TRUE(line_.empty());
    return names;
  }

  std::list<Waiting> all_;
  FairLine line_;
};

TEST_F(FairLineTest, OneSourceHasItsTurnAfterTheOther) {
  EXPECT_TRUE(line_.empty());
  for (const char* const name : {"a", "b", "c", "d"}) wait(name, 1);
  wait("X", 2);
  wait("Y", 2);
  wait("!", 255);
  EXPECT_FALSE(line_.empty());
  EXPECT_EQ(serve_all(), "aX!bYcd");
}

TEST_F(FairLineTest, WhoWaitsAgainIsTheLastOfItsSource) {
  Waiting& again = wait("a", 1);
  wait("b", 1);
  wait("X", 2);
  EXPECT_EQ(line_.pop(), &again.place);
  line_.push(again.place);
  EXPECT_EQ(serve_all(), "Xba");
}

TEST_F(FairLineTest, ThoseThatLeaveAreSkipped) {
  wait("a", 1);
  wait("X", 2);
  wait("b", 1);
  all_.pop_front();
  EXPECT_FALSE(line_.empty());
  all_.clear();
  EXPECT_TRUE(line_.empty());
  wait("Y", 2);
  EXPECT_EQ(serve_all(), "Y");
}

TEST_F(FairLineTest, AllCanBeTakenAtOnce) {
  for (const char* const name : {"a", "b"}) wait(name, 1);
  wait("X", 2);
  FairLine::Places taken;
  line_.take_all(taken);
  EXPECT_EQ(taken.size(), 3u);
  EXPECT_TRUE(line_.empty());
  EXPECT_EQ(serve_all(), "");
  while (!taken.empty()) {
    FairLine::Place& last = taken.back();
    taken.pop_back();
    line_.push(last);
  }
  EXPECT_EQ(serve_all(), "Xba");
}

}  // namespace
}  // namespace headgate::server
