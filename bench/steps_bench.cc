// The cost of each step of a request, one benchmark per question. In one thread and with warm
// caches; compare/table.cc measures cold memory.

#include <benchmark/benchmark.h>

#include <array>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/base/writer.h"
#include "headgate/gate/gate.h"
#include "headgate/gate/table_options.h"
#include "headgate/limit/law.h"
#include "headgate/policy/file/load.h"
#include "headgate/store/table.h"

namespace headgate {
namespace {

constexpr const char* one_policy = R"(
  - {name: burst, quota: 1000000, window: 100w}
)";
constexpr const char* two_policies = R"(
  - {name: burst, quota: 1000000, window: 100w}
  - {name: daily, quota: 4000000, window: 100w}
)";
constexpr const char* three_policies = R"(
  - {name: burst, quota: 1000000, window: 100w}
  - {name: hourly, quota: 2000000, window: 100w}
  - {name: daily, quota: 4000000, window: 100w}
)";

constexpr const char* late_policy = R"(
  - {name: bytes, quota: 1000000, window: 100w, cost: response-bytes}
)";

class NoHeaders final : public policy::Headers {
 public:
  [[nodiscard]] std::optional<std::string_view> line(std::string_view,
                                                     std::size_t) const noexcept override {
    return std::nullopt;
  }
};

// A gate with its own table, and one client's request.
class Bench {
 public:
  explicit Bench(const std::string& policies, const std::string& fields = "ratelimit")
      : text_("version: 1\nfields: " + fields + "\npolicies:" + policies), policies_(load(text_)) {
    auto options = gate::table_options(*policies_);
    options.memory = std::size_t{1} << 20;
    table_ = store::Table::open(options).value();
    counts_ = std::vector<gate::PolicyCounts>(policies_->policies().size() + 1);
    gate_.emplace(policies_, *table_, table_->secret(), counts_);
    request_.method = "GET";
    request_.host = "api.example";
    request_.path = "/v1/things";
    request_.peer = policy::Address::parse("192.0.2.1");
    request_.headers = &headers_;
  }

  std::size_t match() { return policies_->match(request_, context_.scratch()).size(); }

  // Decides the request again, a minute later: slower than the quota refills, so never denied.
  const gate::Verdict& admit() {
    now_.ns += longer_than_a_unit;
    gate_->admit(request_, now_, gate::DryRun::no, context_);
    return context_.verdict;
  }

  // Settles what the last request admitted left to settle, a minute later.
  void settle(const gate::Gate* in_force) {
    const Instant taken = now_;
    now_.ns += longer_than_a_unit;
    policy::Response response;
    response.status = 200;
    response.body_bytes = 1;
    gate_->settle(context_.verdict.dues, taken, response, now_, in_force);
  }

  // The gate after a reload of the same file: the table stays.
  [[nodiscard]] std::unique_ptr<gate::Gate> reloaded() {
    return std::make_unique<gate::Gate>(load(text_), *table_, table_->secret(), counts_);
  }

  [[nodiscard]] const gate::Verdict& verdict() const { return context_.verdict; }
  [[nodiscard]] const gate::FieldWriter& field_writer() const { return gate_->field_writer(); }

 private:
  static constexpr Nanos longer_than_a_unit = 61 * nanos_per_second;

  static std::shared_ptr<const policy::PolicySet> load(const std::string& text) {
    auto loaded = policy::load_text(text, "bench");
    if (!loaded) {
      for (const policy::Fault& fault : loaded.error()) std::cerr << fault.text() << '\n';
      std::abort();
    }
    return *std::move(loaded);
  }

  std::string text_;
  std::shared_ptr<const policy::PolicySet> policies_;
  std::unique_ptr<store::Table> table_;
  std::vector<gate::PolicyCounts> counts_;
  std::optional<gate::Gate> gate_;
  NoHeaders headers_;
  policy::Request request_;
  gate::DecisionContext context_;
  Instant now_{nanos_per_second};
};

// How long does the law take to decide, in 64 bits (the interval is whole nanoseconds) or in 128?
template <class Linear>
void law_decides(benchmark::State& state, const limit::Quota& quota) {
  const limit::Law any = limit::make_law(quota, {}).value();
  const auto& law = std::get<Linear>(any);
  std::optional<typename Linear::State> tat;
  Instant now{nanos_per_second};
  for (auto _ : state) {
    now.ns += nanos_per_second;
    auto step = law.spend(tat, 1, now);
    tat = step.state;
    benchmark::DoNotOptimize(step.decision);
  }
}
void law_decides_whole(benchmark::State& state) {
  law_decides<limit::LinearWhole>(state, {60, 60 * nanos_per_second});
}
void law_decides_exact(benchmark::State& state) {
  law_decides<limit::LinearExact>(state, {70, 60 * nanos_per_second});
}
BENCHMARK(law_decides_whole);
BENCHMARK(law_decides_exact);

// How long does it take to find the policies of a request and to write their keys?
void match_finds(benchmark::State& state, const char* policies) {
  Bench bench(policies);
  for (auto _ : state) benchmark::DoNotOptimize(bench.match());
}
BENCHMARK_CAPTURE(match_finds, one_policy, one_policy);
BENCHMARK_CAPTURE(match_finds, three_policies, three_policies);

// How long does it take in a file of many routes, of which one is the request's?
void match_finds_route(benchmark::State& state) {
  std::string routes;
  for (std::int64_t i = 1; i < state.range(0); ++i) {
    const std::string n = std::to_string(i);
    routes +=
        "\n  - {name: r" + n + ", quota: 1000000, window: 100w, match: {path: /v" + n + "/*}}";
  }
  Bench bench(routes +
              "\n  - {name: one, quota: 1000000, window: 100w, match: {path: /v1/things}}\n");
  for (auto _ : state) benchmark::DoNotOptimize(bench.match());
}
BENCHMARK(match_finds_route)->Name("match_finds/routes")->Arg(4)->Arg(5)->Arg(10)->Arg(10'000);

// How long does a decision take, from the request to the verdict?
void gate_admits(benchmark::State& state, const char* policies) {
  Bench bench(policies);
  for (auto _ : state) {
    if (bench.admit().outcome != gate::Outcome::admitted) {
      state.SkipWithError("a request was not admitted");
      break;
    }
  }
}
BENCHMARK_CAPTURE(gate_admits, one_policy, one_policy);
BENCHMARK_CAPTURE(gate_admits, three_policies, three_policies);

// How long does it take to charge a cost that is known late, by the gate that admitted the request,
// and after a reload?
void gate_settles(benchmark::State& state, bool is_reloaded) {
  Bench bench(late_policy);
  const auto next = bench.reloaded();
  bench.admit();
  if (bench.verdict().dues.empty()) state.SkipWithError("nothing is left to settle");
  for (auto _ : state) bench.settle(is_reloaded ? next.get() : nullptr);
}
BENCHMARK_CAPTURE(gate_settles, by_its_gate, false);
BENCHMARK_CAPTURE(gate_settles, after_a_reload, true);

// How long does it take to write the fields of a response, in each form?
void report_writes(benchmark::State& state, const char* policies, const char* fields) {
  Bench bench(policies, fields);
  bench.admit();
  std::array<char, 4096> room;
  for (auto _ : state) {
    Writer out(room);
    const gate::Lines lines = bench.field_writer().write(bench.verdict().items, out);
    if (lines.size() == 0) {
      state.SkipWithError("no field was written");
      break;
    }
    benchmark::DoNotOptimize(lines.begin());
  }
}
BENCHMARK_CAPTURE(report_writes, one_policy, one_policy, "ratelimit");
BENCHMARK_CAPTURE(report_writes, two_policies, two_policies, "ratelimit");
BENCHMARK_CAPTURE(report_writes, two_policies_draft_07, two_policies, "draft-07");
BENCHMARK_CAPTURE(report_writes, two_policies_draft_06, two_policies, "draft-06");
BENCHMARK_CAPTURE(report_writes, two_policies_draft_03, two_policies, "draft-03");
BENCHMARK_CAPTURE(report_writes, two_policies_x_ratelimit, two_policies, "x-ratelimit");

}  // namespace
}  // namespace headgate
