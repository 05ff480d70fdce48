// Tries out what the fields promise. For random policies and histories, after every decision:
//
//   soundness  a lone client that spends r units, however split, within t seconds, is never denied
//   tightness  r is the largest such number
//   progress   after t seconds more than r is available, and r/t never exceeds q/w
//   denial     the wait is exact: denied a nanosecond (exponential law: a second) before, admitted
//              then; t and Retry-After are the same whole seconds, and the least
//
// The test is independent of how a law computes: it checks each promise by requests on a copy of
// the state. HEADGATE_SOAK=N runs N times as many trials, HEADGATE_SEED=S repeats the trial of a
// failure.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <initializer_list>
#include <string>
#include <vector>

#include "headgate/limit/testing/key_state.h"

namespace headgate::limit {
namespace {

constexpr Nanos second = nanos_per_second;
constexpr int trials = 6000;
constexpr int steps = 14;

// SplitMix64: the same numbers everywhere.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) noexcept : state_(seed) {}

  std::uint64_t bits() noexcept {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
  // 0..most
  std::uint64_t upto(std::uint64_t most) noexcept {
    return most + 1 == 0 ? bits() : bits() % (most + 1);
  }
  Nanos span(Nanos most) noexcept {
    return most <= 0 ? 0 : static_cast<Nanos>(u128{bits()} << 64 >> 64) % (most + 1);
  }
  bool once_in(std::uint64_t n) noexcept { return bits() % n == 0; }
  template <class T>
  T one_of(std::initializer_list<T> choices) noexcept {
    return choices.begin()[upto(choices.size() - 1)];
  }

 private:
  std::uint64_t state_;
};

// A promise that was not kept.
struct Broken {
  std::string what;
};

void require(bool kept, const char* what) {
  if (!kept) throw Broken{what};
}

std::string words(Nanos n) {
  if (n == Decision::never) return "never";
  std::string digits;
  const bool negative = n < 0;
  for (u128 left = negative ? -static_cast<u128>(n) : static_cast<u128>(n); left > 0; left /= 10) {
    digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(left % 10)));
  }
  return (negative ? "-" : "") + (digits.empty() ? "0" : digits);
}

// With larger quotas the exponential law's rounding is more than a millionth of a unit, and r may
// be one less than what is available.
constexpr std::uint64_t fine_max = 10'000'000;

// The kind of law that is tested.
struct Kind {
  const char* name;
  Terms terms;
  std::uint64_t quota_min = 1;
  std::uint64_t quota_max = 1'000'000'000'000;
  bool bucket = false;  // a rate of its own, Quota::count per Quota::period
};

struct Tally {
  std::uint64_t decisions = 0;
  std::uint64_t denied = 0;
  std::uint64_t never = 0;
  std::uint64_t exhausted = 0;  // admissions with r = 0
  std::uint64_t loose = 0;      // one unit more than r was available
};

class Trial {
 public:
  Trial(const Kind& kind, std::uint64_t seed) : dice_(seed), kind_(kind), terms_(kind.terms) {
    draw_policy();
  }

  void run(Tally& tally) {
    now_.ns = dice_.one_of<Nanos>({0, 5, dice_.span(100 * second), 1'700'000'000 * second});
    now_.ns += dice_.span(second);
    for (int i = 0; i < steps; ++i) {
      now_.ns += pause();
      const std::uint64_t cost = draw_cost();
      const Op op = draw_op();
      before_ = key_;
      last_ = key_.take(law_, op, cost, now_);
      what_ = "step " + std::to_string(i) + ": " +
              (op == Op::spend    ? "spend "
               : op == Op::peek   ? "peek "
               : op == Op::refund ? "refund "
                                  : "debit ") +
              std::to_string(cost) + " at " + words(now_.ns);
      check(op, cost);
      ++tally.decisions;
      if (!last_.admitted) ++tally.denied;
      if (!last_.admitted && cost > quota_.units) ++tally.never;
      if (last_.admitted && last_.remaining == 0) ++tally.exhausted;
    }
    tally.loose += loose_;
  }

  [[nodiscard]] std::string history_text() const {
    return std::string(kind_.name) + " q=" + std::to_string(quota_.units) +
           " w=" + words(quota_.window) + "ns" +
           (kind_.bucket ? " count=" + std::to_string(quota_.count) +
                               " period=" + words(quota_.period) + "ns"
                         : "") +
           " log=" + std::to_string(terms_.log) + (terms_.late ? " late" : "") +
           (terms_.aligned ? " aligned" : "") + ", " + what_ + ": " +
           (last_.admitted ? "admitted" : "denied") + " r=" + std::to_string(last_.remaining) +
           " t=" + std::to_string(last_.reset) + " wait=" + words(last_.wait);
  }

 private:
  void draw_policy() {
    do {
      quota_.units = std::clamp(
          dice_.one_of<std::uint64_t>({1, 1, 2, 3, 4, 5, 7, 9, 12, 60, 1 + dice_.upto(100'000),
                                       1 + dice_.upto(kind_.quota_max - 1)}),
          kind_.quota_min, kind_.quota_max);
      quota_.window = dice_.one_of<Nanos>(
          {second / 4, second, 3 * second / 2, 5 * second, 7 * second, 60 * second, 3600 * second,
           7, 1 + dice_.span(10 * second), 86400 * second, 1 + dice_.span(Nanos{1} << 54)});
      if (kind_.bucket) draw_rate();
      terms_.reset = dice_.one_of({Reset::pace, Reset::pace, Reset::next, Reset::full});
      if (terms_.denied == Denied::penalty) terms_.penalty = 1 + dice_.span(60 * second);
      if (terms_.aligned) terms_.offset = dice_.span(quota_.window);
      if (terms_.algorithm == Algorithm::moving_window) {
        terms_.log = static_cast<std::uint32_t>(dice_.one_of<std::uint64_t>({1, 2, 3, 5, 4096}));
      }
      terms_.late = terms_.algorithm != Algorithm::concurrency && dice_.once_in(4);
      if (timeless()) terms_.lease = quota_.window;
      if (terms_.calendar != nullptr) {
        terms_.offset = 0;
        quota_.window = usual_length(terms_.calendar->unit());
      }
      made_ = make_law(quota_, terms_);
    } while (!made_);
    law_ = *made_;
  }

  // A window close to the one that was drawn, and the rate that leads to it.
  void draw_rate() {
    const auto units = static_cast<Nanos>(quota_.units);
    quota_.count = dice_.one_of<std::uint64_t>({1, 2, 7, 120, 1 + dice_.upto(1'000'000)});
    const auto count = static_cast<Nanos>(quota_.count);
    quota_.period = std::max<Nanos>(1, quota_.window * count / units);
    if (quota_.period > second) quota_.period -= quota_.period % second;
    quota_.window = ceil_div(units * quota_.period, count);
  }

  // w as clients are shown it.
  [[nodiscard]] Nanos shown_window() const {
    return kind_.bucket ? static_cast<Nanos>(ceil_seconds(quota_.window)) * second : quota_.window;
  }

  [[nodiscard]] bool timeless() const { return terms_.algorithm == Algorithm::concurrency; }
  [[nodiscard]] bool rounded() const { return terms_.algorithm == Algorithm::exponential; }

  // A time close to one of the boundaries; once in 32 times the clock goes back.
  Nanos pause() {
    const Nanos w = quota_.window;
    if (dice_.once_in(32)) return -dice_.span(2 * w);
    const Nanos interval = w / static_cast<Nanos>(quota_.units);
    const Nanos wait = last_.wait == Decision::never ? 0 : last_.wait;
    const Nanos reset = last_.reset == Decision::no_reset ? 0 : static_cast<Nanos>(last_.reset);
    const Nanos near =
        dice_.one_of<Nanos>({0, 0, 0, 0, interval, dice_.span(interval), dice_.span(w), w, 2 * w,
                             dice_.span(3 * w), wait, reset * second});
    return std::max<Nanos>(0, near + dice_.one_of<Nanos>({-1, 0, 0, 1}));
  }

  std::uint64_t draw_cost() {
    const std::uint64_t q = quota_.units;
    const std::uint64_t r = last_.remaining;
    return dice_.one_of<std::uint64_t>(
        {1, 1, 1, 1, 2, 3, 0, q, q + 1, (q + 1) / 2, r, r + 1, 1 + dice_.upto(q)});
  }

  Op draw_op() {
    if (dice_.once_in(16)) return Op::peek;
    if (dice_.once_in(16)) return Op::refund;
    if (terms_.late && dice_.once_in(3)) return Op::debit;
    return Op::spend;
  }

  void check(Op op, std::uint64_t cost) {
    if (op == Op::spend) {
      require(before_.admits(law_, cost, now_) == last_.admitted, "admits() differs from spend()");
      if (cost > 0) {
        KeyState copy = before_;
        const bool merged = key_.log().merges() > before_.log().merges();  // a peek never merges
        require(merged || copy.take(law_, Op::peek, cost, now_) == last_,
                "a peek differs from the spend");
      }
    }
    if (op == Op::refund || op == Op::debit) require(last_.admitted, "a refund or debit is denied");
    // A peek's numbers are those after a spend that was not made.
    if (op == Op::peek && cost > 0) return;
    if (last_.admitted) {
      require(last_.wait == 0, "an admission waits");
    } else {
      check_denial(cost);
    }
    check_soundness();
    check_tightness();
    if (last_.admitted && !timeless()) check_progress();
    check_forgetting();
    check_clock();
    if (!last_.admitted && op == Op::spend && terms_.denied == Denied::free) {
      KeyState unchanged = before_;
      require(unchanged.peek(law_, now_) == key_.peek(law_, now_), "a free denial costs something");
    }
  }

  void check_soundness() {
    const std::uint64_t r = last_.remaining;
    require(r <= quota_.units, "r is more than the quota");
    if (r == 0) return;
    KeyState once = key_;
    require(once.spend(law_, r, now_).admitted, "r at once is denied");
    if (r <= 12) {
      KeyState units = key_;
      for (std::uint64_t i = 0; i < r; ++i) {
        require(units.spend(law_, 1, now_).admitted, "r units at once are denied");
      }
    }
    KeyState growing = key_;
    for (std::uint64_t left = r, cost = 1; left > 0;
         left -= cost, cost = std::min(2 * cost, left)) {
      require(growing.spend(law_, cost, now_).admitted, "r in ever larger parts is denied");
    }
    // A random schedule within t, the longest time that is promised.
    KeyState spread = key_;
    Instant at = now_;
    Nanos left_time = timeless() || last_.reset == Decision::no_reset
                          ? quota_.window
                          : static_cast<Nanos>(last_.reset) * second;
    std::uint64_t left = r;
    for (int i = 0; left > 0; ++i) {
      const Nanos later =
          dice_.one_of<Nanos>({0, 1, dice_.span(left_time), dice_.span(quota_.window)});
      const Nanos step = std::min(later, left_time);
      at.ns += step;
      left_time -= step;
      const std::uint64_t cost = i == 7 ? left : 1 + dice_.upto(left - 1);
      require(spread.spend(law_, cost, at).admitted, "r units, spread, are denied");
      left -= cost;
    }
  }

  void check_tightness() {
    const std::uint64_t r = last_.remaining;
    KeyState all = key_;
    // One unit first: under the exponential law one request is cheaper than several at once.
    if (r > 0) static_cast<void>(all.spend(law_, 1, now_));
    if (r > 1) require(all.spend(law_, r - 1, now_).admitted, "r in two is denied");
    if (rounded() && all.spend(law_, 1, now_).admitted) {
      ++loose_;
      require(r < quota_.units, "more than the quota can be spent");
    }
    require(!all.admits(law_, 1, now_), "more than r can be spent");
    if (r < quota_.units && !rounded()) {
      require(!key_.admits(law_, r + 1, now_), "more than r can be spent at once");
    }
  }

  [[nodiscard]] std::uint64_t remaining_after(Nanos span) const {
    return key_.peek(law_, Instant{now_.ns + span}).remaining;
  }

  void check_progress() {
    const std::uint64_t r = last_.remaining;
    const std::uint64_t q = quota_.units;
    const Nanos t = static_cast<Nanos>(last_.reset) * second;
    switch (terms_.reset) {
      case Reset::pace:
        require(last_.reset >= 1, "t is 0");
        if (r < q) require(remaining_after(t) > r, "not more is available after t");
        require(static_cast<i128>(r) * shown_window() <= t * static_cast<i128>(q),
                "r/t is more than q/w");
        break;
      case Reset::next:
        require((last_.reset == 0) == (r == q), "t is 0 without a full quota, or is not with one");
        if (r == q) break;
        require(remaining_after(t) > r, "not more is available after t");
        require(remaining_after(t - second) <= r, "more is available before t");
        break;
      case Reset::full:
        require(remaining_after(t) == q, "the quota is not full after t");
        if (last_.reset > 0) require(remaining_after(t - second) < q, "it is full before t");
        break;
      case Reset::window:
        break;  // not drawn: Envoy's door alone has it (gate/descriptors_test.cc)
    }
  }

  void check_denial(std::uint64_t cost) {
    if (timeless() || cost > quota_.units) {
      require(last_.wait == Decision::never, "a wait though it is never admitted");
      require(last_.reset == Decision::no_reset, "a t though it is never admitted");
      if (cost <= quota_.units) return;
      for (const Nanos later : {Nanos{0}, quota_.window, 5 * quota_.window}) {
        require(!key_.admits(law_, cost, Instant{now_.ns + later}), "more than the quota passes");
      }
      return;
    }
    require(last_.wait > 0, "a denial without a wait");
    require(last_.reset >= 1, "t is 0 on a denial");
    require(last_.reset == last_.retry_after(), "t is not Retry-After");
    const Nanos t = static_cast<Nanos>(last_.reset) * second;
    require(key_.admits(law_, cost, Instant{now_.ns + last_.wait}), "denied after the wait");
    require(key_.admits(law_, cost, Instant{now_.ns + t}), "denied after Retry-After");
    const Nanos just_before = rounded() ? second : 1;
    require(!key_.admits(law_, cost, Instant{now_.ns + last_.wait - just_before}),
            "admitted before the wait is over");
  }

  // An earlier clock never grants more. (Except for aligned sliding window counters: they weigh the
  // previous bucket by the part that the window still covers, and an earlier clock can be in a
  // bucket of which little is left.)
  void check_clock() {
    if (terms_.algorithm == Algorithm::sliding_window_counter && terms_.aligned) return;
    const Instant earlier{now_.ns -
                          dice_.one_of<Nanos>({1, second, dice_.span(3 * quota_.window)})};
    const std::uint64_t rounding = rounded() ? 1 : 0;
    require(key_.peek(law_, earlier).remaining <= key_.peek(law_, now_).remaining + rounding,
            "an earlier clock grants more");
  }

  // From full_at() on, a store may remove the state: decisions are those of a new key.
  void check_forgetting() {
    const auto full_at = key_.full_at(law_);
    if (!full_at) return;
    const Instant then{std::max(now_.ns, *full_at)};
    require(timeless() || then.ns <= now_.ns + 400 * quota_.window + 400 * terms_.penalty,
            "the state lasts too long");
    KeyState kept = key_;
    KeyState fresh;
    const std::uint64_t cost = 1 + dice_.upto(quota_.units - 1);
    require(kept.spend(law_, cost, then) == fresh.spend(law_, cost, then),
            "the state still matters when it may be removed");
  }

  Dice dice_;
  const Kind& kind_;
  Terms terms_;
  Quota quota_;
  std::optional<Law> made_;
  Law law_;
  KeyState key_;
  KeyState before_;
  Instant now_;
  Decision last_;
  std::string what_;
  std::uint64_t loose_ = 0;
};

// Clocks that are changed every few days, also over midnight, where most histories begin.
std::vector<Calendar::Change> changed_clocks() {
  std::vector<Calendar::Change> changes{{0, 3600}};
  for (std::int64_t i = 1; i < 100; ++i) {
    changes.push_back({i * 400'000, static_cast<std::int32_t>(7200 * (i % 5) - 10'000)});
  }
  for (std::int64_t i = 0; i < 100; ++i) {
    changes.push_back({1'699'900'000 + i * 350'000, static_cast<std::int32_t>(3600 * (i % 3))});
  }
  return changes;
}
const Calendar days(CalendarUnit::day, "", changed_clocks());
const Calendar weeks(CalendarUnit::week, "", changed_clocks());
const Calendar months(CalendarUnit::month, "", changed_clocks());

constexpr Terms terms_of(const Calendar* calendar) {
  return {.algorithm = Algorithm::fixed_window, .aligned = true, .calendar = calendar};
}

class Honesty : public testing::TestWithParam<Kind> {};

void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

TEST_P(Honesty, EveryPromiseIsKept) {
  const std::uint64_t soak = std::max<std::uint64_t>(1, setting("HEADGATE_SOAK", 1));
  const std::uint64_t only = setting("HEADGATE_SEED", 0);
  Tally tally;
  for (std::uint64_t seed = 1; seed <= soak * trials; ++seed) {
    Trial trial(GetParam(), only > 0 ? only : seed);
    try {
      trial.run(tally);
    } catch (const Broken& broken) {
      FAIL() << broken.what << " (HEADGATE_SEED=" << (only > 0 ? only : seed) << ")\n"
             << trial.history_text();
    }
    if (only > 0) return;
  }
  RecordProperty("decisions", std::to_string(tally.decisions));
  // The random histories contain enough of each case.
  EXPECT_EQ(tally.decisions, soak * trials * steps);
  EXPECT_GT(tally.denied, tally.decisions / 20);
  EXPECT_GT(tally.exhausted, tally.decisions / 50);
  EXPECT_GT(tally.never, tally.decisions / 100);
  // The exponential law may do this if a rate differs from a whole number by less than its
  // rounding.
  if (GetParam().quota_max <= fine_max) {
    EXPECT_LE(tally.loose, tally.decisions / 100);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, Honesty,
    testing::Values(
        Kind{"linear", {}}, Kind{"linear_spend", {.denied = Denied::spend}},
        Kind{"linear_penalty", {.denied = Denied::penalty}},
        Kind{"linear_bucket", {}, 1, 1'000'000'000'000, true},
        Kind{"exponential", {.algorithm = Algorithm::exponential}, 1, fine_max},
        Kind{"exponential_of_large_quotas",
             {.algorithm = Algorithm::exponential},
             fine_max,
             1'000'000'000'000'000},
        Kind{"exponential_spend",
             {.denied = Denied::spend, .algorithm = Algorithm::exponential},
             1,
             fine_max},
        Kind{"fixed_window", {.algorithm = Algorithm::fixed_window}},
        Kind{"fixed_window_spend", {.denied = Denied::spend, .algorithm = Algorithm::fixed_window}},
        Kind{"fixed_window_aligned", {.algorithm = Algorithm::fixed_window, .aligned = true}},
        Kind{"fixed_window_aligned_spend",
             {.denied = Denied::spend, .algorithm = Algorithm::fixed_window, .aligned = true}},
        Kind{"fixed_window_days", terms_of(&days)}, Kind{"fixed_window_weeks", terms_of(&weeks)},
        Kind{"fixed_window_months", terms_of(&months)},
        Kind{"sliding_window_counter", {.algorithm = Algorithm::sliding_window_counter}},
        Kind{"sliding_window_counter_aligned",
             {.algorithm = Algorithm::sliding_window_counter, .aligned = true}},
        Kind{"moving_window", {.algorithm = Algorithm::moving_window}},
        Kind{"concurrency", {.algorithm = Algorithm::concurrency}}),
    [](const auto& kind) { return std::string(kind.param.name); });

}  // namespace
}  // namespace headgate::limit
