// The cost of a client's pacer, one benchmark per question.

#include <benchmark/benchmark.h>

#include <array>
#include <string>

#include "headgate/client/pacer.h"

namespace headgate::client {
namespace {

// A pacer that has read a response with so many limits.
Pacer pacer_of(int limits, Instant now) {
  std::string value;
  for (int i = 0; i < limits; ++i) {
    value += (i == 0 ? "\"p" : ", \"p") + std::to_string(i) + "\";r=1000000;t=60";
  }
  const std::array<field::HeaderLine, 1> headers = {{{"RateLimit", value}}};
  Pacer pacer({}, now);
  Request request = pacer.begin(now);
  pacer.receive(request, {200, field::read_response(headers, 1'700'000'000)}, now);
  pacer.end(request);
  return pacer;
}

// How long does it take to compute when the next request may start?
void pacing_decision(benchmark::State& state) {
  Instant now{nanos_per_second};
  const Pacer pacer = pacer_of(static_cast<int>(state.range(0)), now);
  for (auto _ : state) {
    now.ns += 1000;
    benchmark::DoNotOptimize(pacer.next(now));
  }
}
BENCHMARK(pacing_decision)->ArgName("limits")->Arg(1)->Arg(3)->Arg(32);

// How long does all of a request's bookkeeping take: decided, begun, ended?
void pacing_of_a_request(benchmark::State& state) {
  Instant now{nanos_per_second};
  Pacer pacer = pacer_of(static_cast<int>(state.range(0)), now);
  for (auto _ : state) {
    now.ns += 1000;
    benchmark::DoNotOptimize(pacer.next(now));
    const Request request = pacer.begin(now);
    pacer.end(request);
  }
}
BENCHMARK(pacing_of_a_request)->ArgName("limits")->Arg(1)->Arg(3)->Arg(32);

}  // namespace
}  // namespace headgate::client
