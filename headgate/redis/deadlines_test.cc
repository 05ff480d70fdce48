#include "headgate/redis/deadlines.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <vector>

namespace headgate::redis {
namespace {

TEST(Deadlines, OneThatWaitsKeepsNoneThatAreComplete) {
  boost::asio::io_context io;
  LastFault fault;
  Deadlines deadlines(io, nullptr, fault);
  const Options options;
  const KnownClock clock;
  std::optional<Instant> now;
  const auto make = [&] {
    return std::make_shared<Taking>(std::span<store::Bundle>(), now, store::Completion{},
                                    std::chrono::steady_clock::now(), options, clock);
  };
  deadlines.add(make());
  std::vector<std::weak_ptr<Taking>> complete;
  for (int i = 0; i < 10'000; ++i) {
    const auto taking = make();
    deadlines.add(taking);
    taking->complete();
    complete.push_back(taking);
  }
  EXPECT_LE(std::ranges::count_if(complete, [](const auto& one) { return !one.expired(); }), 64);
  EXPECT_TRUE(deadlines.is_taking());
}

}  // namespace
}  // namespace headgate::redis
