// What a client's decision costs: may the next request go? One question a benchmark.

#include <benchmark/benchmark.h>

#include <array>
#include <string>

#include "headgate/client/pacer.h"

namespace headgate::client {
namespace {

// A client that has heard of so many limits.
Pacer pacer_of(int limits, Instant now) {
  std::string told;
  for (int i = 0; i < limits; ++i) {
    told += (i == 0 ? "\"p" : ", \"p") + std::to_string(i) + "\";r=1000000;t=60";
  }
  const std::array<field::HeaderLine, 1> headers = {{{"RateLimit", told}}};
  Pacer pacer({}, now);
  Request request = pacer.begin(now);
  pacer.receive(request, {200, field::read_response(headers, 1'700'000'000)}, now);
  pacer.end(request);
  return pacer;
}

// How long does it take to ask when the next request may go?
void asks(benchmark::State& state) {
  Instant now{nanos_per_second};
  const Pacer pacer = pacer_of(static_cast<int>(state.range(0)), now);
  for (auto _ : state) {
    now.ns += 1000;
    benchmark::DoNotOptimize(pacer.next(now));
  }
}
BENCHMARK(asks)->Name("pacing_decision")->ArgName("limits")->Arg(1)->Arg(3)->Arg(32);

// And the whole of a request's bookkeeping: asked, begun, ended?
void asks_begins_ends(benchmark::State& state) {
  Instant now{nanos_per_second};
  Pacer pacer = pacer_of(static_cast<int>(state.range(0)), now);
  for (auto _ : state) {
    now.ns += 1000;
    benchmark::DoNotOptimize(pacer.next(now));
    const Request request = pacer.begin(now);
    pacer.end(request);
  }
}
BENCHMARK(asks_begins_ends)->ArgName("limits")->Arg(1)->Arg(3)->Arg(32);

}  // namespace
}  // namespace headgate::client
