// The module in a real redis-server: the suite of all stores, and the bytes that scripts write.

#include "headgate/store/testing/conformance.h"

#include <gtest/gtest.h>

#include <charconv>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "headgate/limit/testing/random_parameters.h"
#include "headgate/redis/all_or_none.h"
#include "headgate/redis/key.h"
#include "headgate/redis/law_writer.h"
#include "headgate/redis/redis_store.h"
#include "headgate/redis/testing/blocking.h"
#include "headgate/redis/testing/redis_server.h"
#include "headgate/redis_module/testing/clock_file.h"
#include "headgate/redis_module/testing/load_obstacle.h"

namespace headgate::redis_module {
namespace {

using limit::Decision;
using limit::Op;

constexpr Nanos second = nanos_per_second;

// One server for all tests of this process.
const redis::RedisServer& server() {
  static const auto running = [] {
    set_clock({});
    // For the server alone: a module with AddressSanitizer needs it first.
    if (*HEADGATE_PRELOAD != '\0') {
      setenv("LD_PRELOAD", HEADGATE_PRELOAD, 1);
      setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
    }
    auto started = std::make_unique<redis::RedisServer>(
        std::vector<std::string>{"--loadmodule", HEADGATE_REDIS_MODULE});
    unsetenv("LD_PRELOAD");
    return started;
  }();
  return *running;
}

std::string cost_text(const store::Charge& charge) {
  constexpr const char* ops[] = {"spend:", "peek:", "refund:", "debit:"};
  std::string text = ops[static_cast<int>(charge.op)] + std::to_string(charge.cost);
  if (charge.op == Op::refund && charge.since.ns > 0) {
    text += '@' + std::to_string(static_cast<std::int64_t>(charge.since.ns));
  }
  return text;
}

std::vector<std::int64_t> numbers_in(const std::string& reply) {
  std::vector<std::int64_t> numbers;
  const char* at = reply.data();
  const char* const end = at + reply.size();
  while (at != end) {
    std::int64_t number = 0;
    const auto read = std::from_chars(at, end, number);
    if (read.ec == std::errc{}) numbers.push_back(number);
    EXPECT_TRUE(read.ec == std::errc{} || *at == '\n') << reply;
    at = read.ec == std::errc{} ? read.ptr : at + 1;
  }
  return numbers;
}

// Takes the charges by one HG.TAKE.
void take_by_module(store::Bundle& bundle, Instant now) {
  set_clock(now);
  std::vector<std::string> words{"HG.TAKE"};
  for (std::size_t i = 0; i < bundle.charges.size(); ++i) {
    const store::Charge& charge = bundle.charges[i];
    const std::string key = redis::redis_key("hg:", *charge.law, charge.key);
    words.push_back(key.empty() ? "no state " + std::to_string(i) : key);
    words.push_back(redis::law_text(*charge.law));
    words.push_back(cost_text(charge));
  }
  const std::vector<std::int64_t> numbers =
      numbers_in(server().command({words.begin(), words.end()}));
  ASSERT_EQ(numbers.size(), 3 + 6 * bundle.charges.size());
  bundle.admitted = numbers[0] == 1;
  for (std::size_t i = 0; i < bundle.charges.size(); ++i) {
    const std::int64_t* const one = &numbers[3 + 6 * i];
    bundle.decisions[i] = {
        .admitted = one[0] == 1,
        .remaining = static_cast<std::uint64_t>(one[2]),
        .reset = one[3] < 0 ? Decision::no_reset : static_cast<std::uint64_t>(one[3]),
        .wait = one[4] < 0 ? Decision::never : one[4] * second + one[5]};
  }
}

class ModuleStore final : public store::Store {
 public:
  using Store::take;
  [[nodiscard]] Instant now() const noexcept override { return {1'700'000'000 * second}; }
  [[nodiscard]] bool completes_at_once() const noexcept override { return true; }
  void take(std::span<store::Bundle> bundles, std::optional<Instant>& now,
            store::Completion done) noexcept override {
    {
      const std::scoped_lock lock(one_connection_);
      if (!now) now = this->now();
      for (store::Bundle& bundle : bundles) take_by_module(bundle, *now);
    }
    done.call(done.context);
  }

 private:
  std::mutex one_connection_;
};

// A store by scripts on the same server, which decides by the times that are passed.
std::unique_ptr<redis::RedisStore> by_scripts() {
  redis::Options options;
  options.nodes = {server().address()};
  options.timeout = std::chrono::seconds(60);
  options.clock = redis::Clock::caller;
  return redis::RedisStore::open(std::move(options)).value();
}

// Every step goes to the module or to the scripts, over the same keys: so both write the same bytes
// and decide the same, and one continues what the other has begun.
TEST(ModuleAndScripts, WriteTheSameBytes) {
  if (!load_obstacle().empty()) GTEST_SKIP() << load_obstacle();
  const auto scripts = by_scripts();
  limit::RandomParameters dice;
  std::vector<int> steps(std::variant_size_v<limit::Law>);
  const auto next_law = [&] {
    for (;;) {
      const limit::Parameters made = dice.next();
      if (const auto law = limit::make_law(made.quota, made.terms)) return *law;
    }
  };
  for (int history = 0; history < 300; ++history) {
    const std::size_t keys = 1 + dice.below(3);
    std::vector<std::string> names;
    std::vector<std::string> states(keys);
    std::vector<limit::Law> laws;
    for (std::size_t i = 0; i < keys; ++i) {
      names.push_back("\1" + std::string(1, static_cast<char>('a' + i)) + std::to_string(history));
      laws.push_back(next_law());
    }
    Instant now{1'700'000'000 * second + static_cast<Nanos>(dice.below(1'000'000)) * 1000};
    for (int step = 0; step < 12; ++step) {
      now.ns += static_cast<Nanos>(dice.up_to_bits(56)) / 1000 * 1000;
      std::vector<store::Charge> charges;
      for (std::size_t i = 0; i < keys; ++i) {
        const std::uint64_t quota = limit::parameters_of(laws[i]).quota.units;
        const std::uint64_t cost = dice.below(6) == 0   ? 0
                                   : dice.below(9) == 0 ? quota + 1
                                                        : 1 + dice.below(quota + 1);
        const Op op = dice.below(3) > 0 ? Op::spend : static_cast<Op>(dice.below(4));
        charges.push_back({&laws[i], names[i], cost, op});
        ++steps[laws[i].index()];
      }
      std::vector<redis::KeyState> model;
      for (std::size_t i = 0; i < keys; ++i) model.emplace_back(laws[i], states[i]);
      std::vector<Decision> expected(keys);
      const bool admitted = redis::decide_all_or_none(charges, model, now, expected);

      const bool by_module = dice.below(2) == 0;
      SCOPED_TRACE("history " + std::to_string(history) + ", step " + std::to_string(step) +
                   (by_module ? " by the module" : " by scripts"));
      redis::Taken taken;
      taken.decisions.resize(keys);
      if (by_module) {
        store::Bundle bundle{charges, taken.decisions};
        take_by_module(bundle, now);
        taken.admitted = bundle.admitted;
      } else {
        taken = redis::take(*scripts, charges, now);
      }
      ASSERT_FALSE(taken.undecided) << scripts->status().fault;
      ASSERT_EQ(taken.admitted, admitted);
      ASSERT_EQ(taken.decisions, expected);
      for (std::size_t i = 0; i < keys; ++i) {
        if (model[i].is_changed()) states[i] = model[i].bytes();
        const std::string name = redis::redis_key("hg:", laws[i], names[i]);
        if (name.empty()) continue;
        const std::string kept = server().command({"GET", name});
        ASSERT_TRUE(kept == states[i] || (kept == "(nil)" && states[i].empty()))
            << redis::law_text(laws[i]) << ' ' << cost_text(charges[i]);
      }
    }
  }
  for (const int count : steps) EXPECT_GT(count, 100);
}

std::unique_ptr<store::Store> in_module() {
  server().command({"FLUSHALL"});
  return std::make_unique<ModuleStore>();
}

}  // namespace
}  // namespace headgate::redis_module

namespace headgate::store {
namespace {

INSTANTIATE_TEST_SUITE_P(RedisModule, StoreConformance,
                         testing::Values(StoreUnderTest{"one_server", redis_module::in_module,
                                                        redis_module::load_obstacle}),
                         [](const auto& the) { return the.param.name; });

}  // namespace
}  // namespace headgate::store
