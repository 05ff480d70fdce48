// The cost of reading the fields of a response, one benchmark per question.

#include <benchmark/benchmark.h>

#include <array>
#include <string_view>

#include "headgate/field/read/member_reader.h"
#include "headgate/field/read/response.h"

namespace headgate::field {
namespace {

constexpr std::string_view policies = R"("burst";q=100;w=60, "daily";q=5000;w=86400)";
constexpr std::string_view limits = R"("burst";r=99;t=60, "daily";r=4999;t=86383)";

// How long does it take to read RateLimit and RateLimit-Policy, two members each, in address?
void both_fields_are_read(benchmark::State& state) {
  RawMember member;
  for (auto _ : state) {
    for (const auto& [kind, value] :
         {std::pair(FieldKind::policy, policies), std::pair(FieldKind::ratelimit, limits)}) {
      MemberReader reader(kind, value);
      while (reader.next(member)) benchmark::DoNotOptimize(member);
      if (!reader.ok()) state.SkipWithError("a field was not read");
    }
  }
}
BENCHMARK(both_fields_are_read);

// How long does a whole header section take, to the joined view that owns its strings?
void response_is_read(benchmark::State& state, std::span<const HeaderLine> headers) {
  for (auto _ : state) {
    ResponseView view = read_response(headers, 1'700'000'000);
    if (view.members.size() != 2) {
      state.SkipWithError("a field was not read");
      break;
    }
    benchmark::DoNotOptimize(view);
  }
}
constexpr std::array<HeaderLine, 2> fields_only = {
    {{"RateLimit-Policy", policies}, {"RateLimit", limits}}};
constexpr std::array<HeaderLine, 12> header_section = {
    {{"server", "nginx/1.22.1"},
     {"date", "Sat, 21 Nov 2026 03:19:43 GMT"},
     {"content-type", "application/json"},
     {"content-length", "23"},
     {"connection", "keep-alive"},
     {"cache-control", "no-store"},
     {"etag", "\"33a64df551425fcc\""},
     {"vary", "accept-encoding"},
     {"x-request-id", "7f3c1d1e"},
     {"ratelimit-policy", policies},
     {"ratelimit", limits},
     {"strict-transport-security", "max-age=1"}}};
BENCHMARK_CAPTURE(response_is_read, fields_only, fields_only);
BENCHMARK_CAPTURE(response_is_read, of_twelve_fields, header_section);

}  // namespace
}  // namespace headgate::field
