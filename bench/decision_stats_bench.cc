// The cost of the server's statistics per decision: counters, latency, and the busiest keys. For
// few and many keys, admitted and denied, at a high load: then only some decisions are sampled.

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

class Bench {
 public:
  Bench() {
    const auto policies = policy::load_text(
        "version: 1\npolicies: [{name: burst, quota: 1, window: 100w}]\n", "bench.yaml");
    auto options = gate::table_options(**policies);
    options.memory = 1 << 20;
    table_ = store::Table::open(options).value();
    counters_ = gate::Counters::open({"burst"}, nullptr);
    snapshot =
        std::make_unique<PolicySnapshot>(*policies, policy::OverrideList{}, *table_,
                                         table_->secret(), PolicySnapshot::Numbers{}, counters_);
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

// One policy decides the same key again and again.
void a_policy_decides(benchmark::State& state) {
  Bench bench;
  gate::DecisionContext context;
  const gate::Check check{"burst", "key:000000012345"};
  for (auto denied = state.range(0); denied >= 0; --denied) {
    static_cast<void>(
        bench.snapshot->gate().decide({&check, 1}, limit::Op::spend, bench.now, context));
  }
  const auto decide = [&] {
    bench.now.ns += 800;
    bench.stats.decided(DoorKind::resp, *bench.snapshot, context, bench.now, 300);
  };
  for (int i = 0; i < 2'000'000; ++i) decide();
  for (auto _ : state) decide();
}
BENCHMARK(a_policy_decides)->ArgName("denied")->Arg(0)->Arg(1);

// As CL.THROTTLE does it: a random key out of so many.
void one_of_many_keys(benchmark::State& state) {
  Bench bench;
  const std::vector<std::string> all = keys(static_cast<std::size_t>(state.range(0)));
  const bool admitted = state.range(1) == 0;
  std::uint64_t random = 1;
  const auto decide = [&] {
    random = random * 6364136223846793005 + 1442695040888963407;
    bench.now.ns += 800;  // 1.25 million per second
    bench.stats.decided_alone(DoorKind::resp, *bench.snapshot, "throttle",
                              all[(random >> 33) % all.size()], 1, admitted, bench.now, 300);
  };
  for (int i = 0; i < 2'000'000; ++i) decide();  // until the sampling has adapted to the load
  for (auto _ : state) decide();
}
BENCHMARK(one_of_many_keys)
    ->ArgNames({"keys", "denied"})
    ->Args({100, 0})
    ->Args({100'000, 0})
    ->Args({100, 1})
    ->Args({100'000, 1});

// Reading the lists of one worker, as /v1/top does.
void lists_are_read(benchmark::State& state) {
  Bench bench;
  for (const std::string& key : keys(10'000)) {
    bench.stats.decided_alone(DoorKind::resp, *bench.snapshot, "throttle", key, 1, false, bench.now,
                              300);
  }
  for (auto _ : state) {
    benchmark::DoNotOptimize(bench.stats.recent().recent(bench.now, bench.snapshot->labels()));
  }
}
BENCHMARK(lists_are_read);

}  // namespace
}  // namespace headgate::server
