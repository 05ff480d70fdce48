// A client that obeys the fields of every response is never denied, under any law, and still gets
// most of the quota.
//
//   greedy  spends r at once, then waits t
//   paced   spreads r over t
//
// Each client runs for an hour of virtual time after a first window that is not counted. The tests
// check the least share of the quota per window that a client gets, and print it for the table of
// `./dev bench --laws`, which docs/algorithms.md contains. Time is virtual and the computation is
// deterministic, so the expected shares are what the laws give, rounded down to whole percent. They
// are less than 100 % for these reasons:
//
//   one unit  After the first request of a window, a paced client spreads r = q - 1 over the
//             window. So it spends q - 1 units per window: 90 % of a quota of 10.
//   seconds   t is rounded up to whole seconds. With windows of 10 s that slows a paced client down
//             by up to a tenth, and units that it does not use within a window are lost. (Not under
//             the linear law, where units come back evenly: only r/t is rounded.) A greedy client
//             loses time by its waits under the exponential law, which are in whole seconds, and
//             with aligned sliding buckets, which do not end at the client's seconds.
//   merging   In a log of 8 records most units come back later than a window after they were spent.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <deque>
#include <string>

#include "headgate/limit/testing/key_state.h"

namespace headgate::limit {
namespace {

constexpr Nanos second = nanos_per_second;
constexpr Nanos hour = 3600 * second;
constexpr Instant start{1'700'000'000 * second + 123'456'789};

// The time until an obedient client's next request after a response [ns].
using Behaviour = Nanos (*)(const Decision&);

Nanos greedy(const Decision& d) {
  return d.remaining > 0 ? 0 : static_cast<Nanos>(d.reset) * second;
}

Nanos paced(const Decision& d) {
  const Nanos t = static_cast<Nanos>(d.reset) * second;
  return d.remaining > 0 ? ceil_div(t, static_cast<Nanos>(d.remaining)) : t;
}

// Runs a client for an hour, and returns the units that it got as a share of the quota per window.
double share_of(const Quota& quota, const Terms& terms, Behaviour behaviour) {
  const Law law = make_law(quota, terms).value();
  KeyState key;
  Instant now = start;
  const Instant counted{start.ns + quota.window};
  const Instant end{counted.ns + hour};
  std::uint64_t units = 0;
  while (now < end) {
    const Decision d = key.spend(law, 1, now);
    EXPECT_TRUE(d.admitted) << "denied after " << static_cast<double>(now.ns - start.ns) / 1e9
                            << " s";
    if (!d.admitted) return 0;
    if (now >= counted) ++units;
    now.ns += behaviour(d);
  }
  const double promised = static_cast<double>(quota.units) * static_cast<double>(hour) /
                          static_cast<double>(quota.window);
  return static_cast<double>(units) / promised;
}

// For the table of `./dev bench --laws`, rounded down.
std::string percent(double share) { return std::to_string(static_cast<int>(100 * share)) + " %"; }

struct Kind {
  const char* name;
  Terms terms;
  int greedy;  // the least share of the quota per window [%]
  int paced;
};

void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

class Obedient : public testing::TestWithParam<Kind> {};

TEST_P(Obedient, IsNeverDenied) {
  const Terms& terms = GetParam().terms;
  double least_greedy = 2;
  double least_paced = 2;
  for (const std::uint64_t units : {10, 100, 1000}) {
    for (const Nanos window : {10 * second, 60 * second, 600 * second}) {
      const Quota quota{units, window};
      SCOPED_TRACE("q=" + std::to_string(units) +
                   " w=" + std::to_string(static_cast<int>(window / second)));
      least_greedy = std::min(least_greedy, share_of(quota, terms, greedy));
      least_paced = std::min(least_paced, share_of(quota, terms, paced));
    }
  }
  RecordProperty("greedy", percent(least_greedy));
  RecordProperty("paced", percent(least_paced));
  std::printf("%-32s greedy %5.1f %%  paced %5.1f %% of q/w at least\n", GetParam().name,
              100 * least_greedy, 100 * least_paced);
  EXPECT_GE(least_greedy, GetParam().greedy / 100.0);
  EXPECT_GE(least_paced, GetParam().paced / 100.0);
}

TEST_P(Obedient, IsNeverDeniedWhateverThePolicy) {
  for (const std::uint64_t units : {1, 2, 3, 7, 61}) {
    for (const Nanos window : {second / 3, second, 7 * second, 90 * second}) {
      SCOPED_TRACE("q=" + std::to_string(units) +
                   " w=" + std::to_string(static_cast<double>(window) / 1e9));
      static_cast<void>(share_of({units, window}, GetParam().terms, greedy));
      static_cast<void>(share_of({units, window}, GetParam().terms, paced));
      if (HasFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, Obedient,
    testing::Values(
        Kind{"linear", {}, 100, 99}, Kind{"linear_spend", {.denied = Denied::spend}, 100, 99},
        Kind{"linear_penalty", {.denied = Denied::penalty, .penalty = 30 * second}, 100, 99},
        Kind{"exponential", {.algorithm = Algorithm::exponential}, 95, 76},
        Kind{"exponential_spend",
             {.denied = Denied::spend, .algorithm = Algorithm::exponential},
             95,
             76},
        Kind{"fixed_window", {.algorithm = Algorithm::fixed_window}, 100, 87},
        Kind{"fixed_window_spend",
             {.denied = Denied::spend, .algorithm = Algorithm::fixed_window},
             100,
             87},
        Kind{"fixed_window_aligned",
             {.algorithm = Algorithm::fixed_window, .aligned = true},
             100,
             88},
        Kind{"sliding_window_counter", {.algorithm = Algorithm::sliding_window_counter}, 99, 83},
        Kind{"sliding_window_counter_aligned",
             {.algorithm = Algorithm::sliding_window_counter, .aligned = true},
             91,
             83},
        Kind{"moving_window", {.algorithm = Algorithm::moving_window}, 100, 83},
        Kind{"moving_window_of_8_records",
             {.algorithm = Algorithm::moving_window, .log = 8},
             100,
             72}),
    [](const auto& kind) { return std::string(kind.param.name); });

// Concurrency has no t: an obedient client starts r requests, and each ends some time later. All
// slots are in use all the time.
TEST(ObedientToConcurrency, IsNeverDenied) {
  const Law law =
      make_law({7, 0}, {.algorithm = Algorithm::concurrency, .lease = 60 * second}).value();
  KeyState key;
  std::deque<Instant> under_way;
  std::uint64_t left = 7;
  Nanos busy = 0;
  constexpr Nanos tick = second / 10;
  for (Instant now = start; now.ns < start.ns + hour; now.ns += tick) {
    while (left > 0) {
      const Decision d = key.spend(law, 1, now);
      ASSERT_TRUE(d.admitted);
      left = d.remaining;
      under_way.push_back(now);
    }
    busy += tick * static_cast<Nanos>(under_way.size());
    // The oldest request ends; every third time two of them end.
    for (int ends = now.ns / tick % 3 == 0 ? 2 : 1; ends > 0; --ends) {
      left = key.take(law, Op::refund, 1, now, under_way.front()).remaining;
      under_way.pop_front();
    }
  }
  const double share = static_cast<double>(busy) / static_cast<double>(7 * hour);
  RecordProperty("greedy", percent(share));
  std::printf("%-32s slots in use %5.1f %%\n", "concurrency", 100 * share);
  EXPECT_EQ(share, 1);
}

}  // namespace
}  // namespace headgate::limit
