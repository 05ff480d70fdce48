// What seeing a decision costs: counting it, its latency, and who asked. By how many keys there are
// and whether they are denied; at a high load, as no benchmark is anything else.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "headgate/gate/table_options.h"
#include "headgate/policy/file/load.h"
#include "headgate/server/stats/decision_stats.h"

namespace headgate::server {
namespace {

class Seen {
 public:
  Seen() {
    const auto policies = policy::load_text(
        "version: 1\npolicies: [{name: burst, quota: 1, window: 100w}]\n", "bench.yaml");
    auto options = gate::table_options(**policies);
    options.memory = 1 << 20;
    table_ = store::Table::open(options).value();
    counters_ = gate::Counters::open({"burst"}, nullptr);
    snapshot = std::make_unique<PolicySnapshot>(*policies, *table_, 1, counters_);
    now = table_->now();
  }

  std::unique_ptr<PolicySnapshot> snapshot;
  Instant now;
  DecisionStats stats;

 private:
  std::unique_ptr<store::Table> table_;
  std::shared_ptr<gate::Counters> counters_;
};

std::vector<std::string> keys(std::size_t count) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back("key:" + std::to_string(100'000'000 + i));
  return all;
}

// One policy decides one key again and again.
void a_policy_decides(benchmark::State& state) {
  Seen seen;
  gate::DecisionContext context;
  const gate::Check check{"burst", "key:000000012345"};
  for (auto denied = state.range(0); denied >= 0; --denied) {
    static_cast<void>(
        seen.snapshot->gate().decide({&check, 1}, limit::Op::spend, seen.now, context));
  }
  const auto decide = [&] {
    context.now.ns += 800;
    seen.stats.decided(DoorKind::resp, *seen.snapshot, context, 300);
  };
  for (int i = 0; i < 2'000'000; ++i) decide();
  for (auto _ : state) decide();
}
BENCHMARK(a_policy_decides)->ArgName("denied")->Arg(0)->Arg(1);

// As CL.THROTTLE does: a key of so many, at random.
void one_of_many_keys(benchmark::State& state) {
  Seen seen;
  const std::vector<std::string> all = keys(static_cast<std::size_t>(state.range(0)));
  const bool admitted = state.range(1) == 0;
  std::uint64_t random = 1;
  const auto decide = [&] {
    random = random * 6364136223846793005 + 1442695040888963407;
    seen.now.ns += 800;  // 1.25 million a second
    seen.stats.decided_alone(DoorKind::resp, *seen.snapshot, "throttle",
                             all[(random >> 33) % all.size()], 1, admitted, seen.now, 300);
  };
  for (int i = 0; i < 2'000'000; ++i) decide();  // until it has noticed that the load is high
  for (auto _ : state) decide();
}
BENCHMARK(one_of_many_keys)
    ->ArgNames({"keys", "denied"})
    ->Args({100, 0})
    ->Args({100'000, 0})
    ->Args({100, 1})
    ->Args({100'000, 1});

// What a reader costs, of one worker.
void a_look_at_the_lists(benchmark::State& state) {
  Seen seen;
  for (const std::string& key : keys(10'000)) {
    seen.stats.decided_alone(DoorKind::resp, *seen.snapshot, "throttle", key, 1, false, seen.now,
                             300);
  }
  for (auto _ : state) {
    benchmark::DoNotOptimize(seen.stats.recent(seen.now, *seen.snapshot));
  }
}
BENCHMARK(a_look_at_the_lists);

}  // namespace
}  // namespace headgate::server
