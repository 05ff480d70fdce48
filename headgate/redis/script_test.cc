// take.lua computes what limit/linear.h computes, to the last bit.

#include "headgate/redis/script.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>
#include <vector>

#include "headgate/redis/all_or_none.h"
#include "headgate/redis/key.h"
#include "headgate/redis/key_state.h"
#include "headgate/redis/linear_args.h"
#include "headgate/redis/redis_store.h"
#include "headgate/redis/testing/blocking.h"
#include "headgate/redis/testing/redis_server.h"

namespace headgate::redis {
namespace {

using limit::Denied;
using limit::Op;

constexpr Nanos second = nanos_per_second;

class Dice {
 public:
  std::uint64_t below(std::uint64_t end) { return engine_() % end; }
  std::uint64_t up_to_bits(unsigned bits) { return 1 + (engine_() >> (64 - 1 - below(bits))); }

  limit::Law law() {
    for (;;) {
      const std::uint64_t quota = up_to_bits(below(4) == 0 ? 40 : 12);
      limit::Quota shape{quota, static_cast<Nanos>(up_to_bits(62))};
      if (below(3) == 0) {
        shape.count = up_to_bits(22);
        shape.period = static_cast<Nanos>(up_to_bits(40));
        shape.window =
            ceil_div(static_cast<Nanos>(quota) * shape.period, static_cast<Nanos>(shape.count));
        if (shape.window > limit::Quota::window_max) continue;
      }
      limit::Terms terms;
      terms.denied = static_cast<Denied>(below(3));
      if (terms.denied == Denied::penalty) terms.penalty = static_cast<Nanos>(up_to_bits(50));
      terms.late = below(2) == 0;
      const auto law = limit::make_law(shape, terms);
      if (law && decided_by_script({&*law, ""}, {})) return *law;
    }
  }

  store::Charge charge(const limit::Law& law, const std::string& key) {
    const std::uint64_t quota = std::visit(
        []<class L>(const L& some) -> std::uint64_t {
          if constexpr (requires { some.quota(); }) return some.quota();
          return 0;
        },
        law);
    const std::uint64_t cost = below(6) == 0   ? 0
                               : below(3) == 0 ? quota
                               : below(9) == 0 ? quota + 1
                               : below(9) == 0 ? up_to_bits(54)
                                               : 1 + below(quota);
    const Op op = below(3) > 0 ? Op::spend : static_cast<Op>(below(4));
    return {&law, key, cost, op};
  }

 private:
  std::mt19937_64 engine_{19};
};

// A store that decides by the times that are passed.
std::unique_ptr<RedisStore> store_at(const RedisServer& server) {
  Options options;
  options.nodes = {server.address()};
  options.timeout = std::chrono::seconds(60);
  options.clock = Clock::caller;
  return RedisStore::open(options).value();
}

TEST(TakeScript, WritesTheStatesOfTheLaw) {
  const RedisServer server;
  const auto store = store_at(server);
  Dice dice;
  for (int history = 0; history < 150; ++history) {
    // One to three keys, whose laws change now and then.
    const std::size_t keys = 1 + dice.below(3);
    std::vector<std::string> names;
    std::vector<std::string> states(keys);
    std::vector<limit::Law> laws;
    for (std::size_t i = 0; i < keys; ++i) {
      names.push_back("\1" + std::string(1, static_cast<char>('a' + i)) + std::to_string(history));
      laws.push_back(dice.law());
    }
    Instant now{1'700'000'000 * second + static_cast<Nanos>(dice.below(1'000'000'000))};
    for (int step = 0; step < 12; ++step) {
      if (dice.below(8) == 0) laws[0] = dice.law();
      const Nanos span = static_cast<Nanos>(dice.up_to_bits(60));
      now.ns += dice.below(10) == 0 ? -span / 1024 : dice.below(3) == 0 ? 0 : span / 16;
      // Bundles that are taken together, one after the other.
      std::vector<std::vector<store::Charge>> bundles(1 + dice.below(3));
      for (std::vector<store::Charge>& charges : bundles) {
        for (std::size_t i = 0; i < keys; ++i) charges.push_back(dice.charge(laws[i], names[i]));
      }
      const std::vector<Taken> taken = take_together(*store, bundles, now);
      for (std::size_t b = 0; b < bundles.size(); ++b) {
        std::vector<KeyState> model;
        for (std::size_t i = 0; i < keys; ++i) model.emplace_back(laws[i], states[i]);
        std::vector<limit::Decision> decisions(keys);
        const bool admitted = decide_all_or_none(bundles[b], model, now, decisions);
        ASSERT_FALSE(taken[b].undecided) << store->status().fault;
        ASSERT_EQ(taken[b].admitted, admitted) << "history " << history << ", step " << step;
        ASSERT_EQ(taken[b].decisions, decisions) << "history " << history << ", step " << step;
        for (std::size_t i = 0; i < keys; ++i) {
          // A state of another scale is only rewritten when it changes.
          const bool changed = model[i].bytes() != KeyState(laws[i], states[i]).bytes();
          if (changed) states[i] = model[i].bytes();
        }
      }
      for (std::size_t i = 0; i < keys; ++i) {
        const std::string kept = server.command({"GET", redis_key("hg:", laws[i], names[i])});
        ASSERT_EQ(kept, states[i].empty() ? "(nil)" : states[i])
            << "history " << history << ", step " << step << ", key " << i;
      }
    }
  }
}

// Redis keeps an integer in 16 bytes; a fraction is rounded up by a law of another scale.
TEST(TakeScript, KeepsTimesAsPeopleReadThem) {
  const RedisServer server;
  const auto store = store_at(server);
  const limit::Law whole = limit::make_law({10, 10 * second}, {}).value();
  const limit::Law sevenths = limit::make_law({7, 10 * second}, {}).value();
  const Instant now{1'700'000'000 * second};
  EXPECT_TRUE(take(*store, {{&whole, "\1a", 3}}, now).admitted);
  EXPECT_EQ(server.command({"GET", "hg:\1a{}"}), "1700000003000000000");
  EXPECT_EQ(server.command({"OBJECT", "ENCODING", "hg:\1a{}"}), "int");
  EXPECT_TRUE(take(*store, {{&sevenths, "\1a", 1}}, now).admitted);
  EXPECT_EQ(server.command({"GET", "hg:\1a{}"}), "1700000004428571428+4/7");
  EXPECT_TRUE(take(*store, {{&whole, "\1a", 1}}, now).admitted);
  EXPECT_EQ(server.command({"GET", "hg:\1a{}"}), "1700000005428571429");
}

TEST(TakeScript, DecidesWhatComesTogetherInFewCalls) {
  const RedisServer server;
  Options options;
  options.nodes = {server.address()};
  options.timeout = std::chrono::seconds(60);
  const auto store = RedisStore::open(options).value();
  const limit::Law law = limit::make_law({60, 86400 * second}, {}).value();
  ASSERT_FALSE(take(*store, {{&law, "\1a", 0}}).undecided);
  server.command({"CONFIG", "RESETSTAT"});
  // 99 bundles for three keys; every third one also needs a key that is used up first.
  const limit::Law ten = limit::make_law({10, 86400 * second}, {}).value();
  std::vector<std::vector<store::Charge>> bundles;
  const std::array<std::string, 3> keys{"\1a", "\1b", "\1c"};
  for (std::size_t i = 0; i < 99; ++i) {
    bundles.push_back({{&law, keys[i % 3], 1}});
    if (i % 3 == 2) bundles.back().push_back({&ten, "\1d", 1});
  }
  std::array<int, 3> admitted{};
  const std::vector<Taken> taken = take_together(*store, bundles);
  for (std::size_t i = 0; i < taken.size(); ++i) {
    ASSERT_FALSE(taken[i].undecided) << store->status().fault;
    admitted[i % 3] += taken[i].admitted ? 1 : 0;
  }
  EXPECT_EQ(admitted, (std::array<int, 3>{33, 33, 10}));
  EXPECT_EQ(take(*store, {{&law, "\1c", 0}}).decisions[0].remaining, 50u);
  const std::string stats = server.command({"INFO", "commandstats"});
  const std::size_t at = stats.find("cmdstat_evalsha:calls=");
  ASSERT_NE(at, std::string::npos) << stats;
  EXPECT_LE(std::stoi(stats.substr(at + 22)), 6);
}

TEST(TakeScript, AForeignKeyHurtsNoOtherBundle) {
  const RedisServer server;
  Options options;
  options.nodes = {server.address()};
  options.timeout = std::chrono::seconds(60);
  const auto store = RedisStore::open(options).value();
  const limit::Law law = limit::make_law({5, 86400 * second}, {}).value();
  server.command({"LPUSH", "hg:\1b{}", "no limit"});
  for (const Taken& taken :
       take_together(*store, {{{&law, "\1a", 1}}, {{&law, "\1b", 1}}, {{&law, "\1a", 1}}})) {
    EXPECT_FALSE(taken.undecided) << store->status().fault;
    EXPECT_TRUE(taken.admitted);
  }
  EXPECT_EQ(take(*store, {{&law, "\1a", 0}}).decisions[0].remaining, 3u);
}

}  // namespace
}  // namespace headgate::redis
