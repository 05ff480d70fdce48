// What the linear law promises, claimed about the code itself: headgate/limit/linear.h is compiled
// here with integers of unknown values (integer.h), and run on every path.
//
// The laws' numbers, states, costs and times are any values that the code can meet:
//   - a law is whatever make() returns (`made`), and then anything that make() was proved to
//   return;
//   - a state is absent or any number of ticks that the table can keep;
//   - a time is any instant since the origin, a cost is any number of 64 bits.
#include <algorithm>
#include <compare>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <numeric>
#include <optional>
#include <type_traits>

#include "proofs/linear/integer.h"

// The law's own words, from here on: std::int64_t and std::uint64_t are unknown, too.
namespace std {
using unknown_int64 = headgate::proofs::Int64;
using unknown_uint64 = headgate::proofs::Uint64;
template <>
struct numeric_limits<unknown_uint64> {
  static constexpr unknown_uint64 max() { return {UINT64_MAX}; }
};
inline unknown_uint64 gcd(const unknown_uint64& a, const unknown_uint64& b) {
  return headgate::proofs::some_common_divisor(a, b);
}
}  // namespace std
#define int64_t unknown_int64
#define uint64_t unknown_uint64
#define private public
#include "headgate/limit/linear.h"
#undef private
#undef int64_t
#undef uint64_t

namespace headgate::proofs {
namespace {

using limit::Decision;
using limit::Denied;
using limit::Linear;
using limit::Quota;
using limit::Reset;
using limit::Step;
using limit::Terms;

constexpr Nanos second = nanos_per_second;
std::vector<std::string> only;  // parts of the names of the claims to prove; empty: all

template <class Ticks>
struct Claims {
  using Law = Linear<Ticks>;
  static constexpr bool narrow = Law::narrow;
  static constexpr const char* width = narrow ? "narrow" : "wide";

  static void named(const std::string& name, const std::function<void()>& body) {
    const std::string full = std::string(width) + " " + name;
    const auto named = [&](const std::string& part) {
      return full.find(part) != std::string::npos;
    };
    if (only.empty() || std::any_of(only.begin(), only.end(), named)) explore(full, body);
  }

  // ---- what make() returns

  static constexpr Nanos longest = narrow ? Nanos{1} << 59 : Nanos{1} << 117;

  // The relations of a law's numbers. Every other claim is made about any numbers with them.
  template <class Say>
  static void invariant(const Law& law, Say say) {
    say(law.quota_ >= 1 && law.quota_ <= Quota::units_max, "the quota is in range");
    say(law.scale_ >= 1 && law.interval_ >= 1, "scale and interval are positive");
    if (narrow) say(law.scale_ == 1, "a narrow law counts in nanoseconds");
    say(law.window_ == static_cast<Ticks>(law.quota_) * law.interval_,
        "the window is the quota times the interval");
    say(law.window_ <= longest && law.debt_ >= 0 && law.debt_ <= longest, "spans are bounded");
    say(law.latest_ >= 0, "the latest instant is not before the origin");
    say(law.latest_ * law.scale_ + 2 * law.window_ + law.debt_ <= Law::time_max,
        "no sum is too large");
  }

  static void made() {
    for (const Denied denied : {Denied::free, Denied::spend, Denied::penalty}) {
      for (const bool bucket : {false, true}) {
        named("make", [&] {
          Quota quota;
          quota.units = Uint64::unknown("quota");
          quota.window = Int128::unknown("window");
          if (bucket) {
            quota.count = Uint64::unknown("count");
            quota.period = Int128::unknown("period");
            given(quota.count > 0);
          }
          Terms terms;
          terms.denied = denied;
          terms.late = denied == Denied::spend;
          if (denied == Denied::penalty) terms.penalty = Int128::unknown("penalty");
          const std::optional<Law> law = Law::make(quota, terms);
          if (!law) return;
          const auto count = static_cast<Nanos>(bucket ? quota.count : quota.units);
          const Nanos period = bucket ? quota.period : quota.window;
          invariant(*law, claim);
          path.trusting = true;  // these products are not the law's
          const Ticks all_units = law->interval_ * static_cast<Ticks>(count);
          const Ticks in_ticks = static_cast<Ticks>(period) * law->scale_;
          path.trusting = false;
          claim(all_units == in_ticks, "the interval is exactly period / count");
        });
      }
    }
  }

  // ---- any law, state and time

  static Ticks any_ticks(const char* name) { return Ticks::unknown(name); }

  static Law any_law(Denied denied, Reset reset) {
    Law law;
    law.scale_ = narrow ? Ticks(1) : any_ticks("scale");
    law.interval_ = any_ticks("interval");
    law.debt_ = any_ticks("debt");
    law.latest_ = any_ticks("latest");
    law.quota_ = Uint64::unknown("quota");
    law.at_once_ = law.quota_;
    law.denied_ = denied;
    law.reset_ = reset;
    path.trusting = true;
    law.window_ = static_cast<Ticks>(law.quota_) * law.interval_;
    invariant(law, [](bool condition, const char*) { given(condition); });
    path.trusting = false;
    return law;
  }

  // Later instants are replaced by the latest one, which the claim `clock` says; earlier ones than
  // the origin do not occur in a table.
  static Instant any_time(const char* name, const Law& law) {
    const Instant now{Int128::unknown(name)};
    given(now.ns >= 0 && now.ns <= law.latest_);
    return now;
  }

  static std::optional<Ticks> any_state() {
    if (Uint64::unknown("the key is new") > 0) return std::nullopt;
    const Ticks tat = any_ticks("tat");
    const Ticks most(Law::time_max);
    given(tat >= -most && tat <= most);
    return tat;
  }

  static std::optional<Ticks> after(const std::optional<Ticks>& before, const Step<Ticks>& step) {
    return step.changed ? step.state : before;
  }

  // Runs a claim for each meaning of a denial, and of t.
  template <class Body>
  static void for_laws(const char* name, std::initializer_list<Reset> resets, Body body) {
    for (const Denied denied : {Denied::free, Denied::spend}) {
      for (const Reset reset : resets) {
        named(name, [&] { body(any_law(denied, reset)); });
      }
    }
  }

  // The second of two requests is not earlier than the first, and the clock's end is not reached.
  static Instant later(const Instant& now, const Law& law) {
    const Instant then = any_time("then", law);
    given(now.ns <= then.ns);
    return then;
  }

  // ---- the claims

  // What a state promises: r at this time.
  static Uint64 shown(const Law& law, const std::optional<Ticks>& tat, const Instant& now) {
    const Ticks at = law.ticks(now);
    return law.available(law.clamped(tat, at), at);
  }

  // A lone client that spends at most r is admitted, at any later time, and what is left of r
  // is still promised. So it can spend r in any parts. Z3 is faster with this in two claims: the r
  // of a decision is that of the state after it, and the r of any state can be spent later.
  static void soundness() {
    for_laws("soundness: shown", {Reset::full}, [](const Law& law) {
      const auto tat = any_state();
      const Uint64 cost = Uint64::unknown("cost");
      const Instant now = any_time("now", law);
      const auto first = law.spend(tat, cost, now);
      claim(first.decision.remaining == shown(law, after(tat, first), now),
            "r is what the state shows");
      claim(law.peek(tat, 0, now).decision.remaining == shown(law, tat, now),
            "and what peek() says");
      if (first.decision.admitted) {
        claim(law.admits(after(tat, first), 0, now), "a cost of 0 is admitted after it");
      }
    });
    for_laws("soundness: kept", {Reset::full}, [](const Law& law) {
      const auto tat = any_state();
      const Uint64 next = Uint64::unknown("next cost");
      const Instant now = any_time("now", law);
      const Uint64 remaining = shown(law, tat, now);
      given(next <= remaining);
      if (!law.admits(tat, 0, now)) given(next >= 1);
      const auto second = law.spend(tat, next, later(now, law));
      claim(second.decision.admitted, "a cost of at most r is admitted");
      claim(second.decision.remaining >= remaining - next, "the rest of r remains");
    });
  }

  // r is the most that a client could spend now.
  static void tightness() {
    for_laws("tightness", {Reset::full}, [](const Law& law) {
      const auto tat = any_state();
      const Uint64 cost = Uint64::unknown("cost");
      const Instant now = any_time("now", law);
      const auto first = law.spend(tat, cost, now);
      given(first.decision.remaining < law.quota_);
      claim(!law.admits(after(tat, first), first.decision.remaining + 1, now),
            "a cost of r + 1 is denied");
    });
  }

  // More than r is available after t, and with Reset::pace r / t is at most q / w. In two claims,
  // as soundness is.
  static void progress() {
    const auto resets = {Reset::pace, Reset::next};
    for_laws("progress: shown", resets, [](const Law& law) {
      const auto tat = any_state();
      const Uint64 cost = Uint64::unknown("cost");
      const Instant now = any_time("now", law);
      const auto first = law.spend(tat, cost, now);
      given(first.decision.admitted);
      const Ticks at = law.ticks(now);
      const auto then = after(tat, first);
      if (then) claim(*then <= at + law.window_ + law.debt_, "no debt is larger than the largest");
      claim(first.decision == law.admission(law.clamped(then, at), at),
            "r and t are what the state shows");
    });
    for_laws("progress: kept", resets, [](const Law& law) {
      const auto tat = any_state();
      const Instant now = any_time("now", law);
      const Ticks at = law.ticks(now);
      if (tat) given(*tat <= at + law.window_ + law.debt_);
      const Decision shows = law.admission(law.clamped(tat, at), at);
      given(shows.reset < field_integer_max);  // a field has no room for a larger t
      const Nanos span = static_cast<Nanos>(shows.reset) * second;
      if (law.reset_ == Reset::pace) {
        path.trusting = true;  // this product is not the law's
        const Ticks passed = static_cast<Ticks>(span) * law.scale_;
        path.trusting = false;
        claim(static_cast<Ticks>(shows.remaining) * law.interval_ <= passed,
              "r units take at least t to come back");
      }
      given(shows.remaining < law.quota_);
      given(now.ns + span <= law.latest_);
      claim(shown(law, tat, Instant{now.ns + span}) > shows.remaining,
            "more than r is available after t");
    });
  }

  // A denial's wait is exact: the same cost is admitted after it, and denied 1 ns earlier.
  static void denial() {
    for_laws("denial", {Reset::full}, [](const Law& law) {
      const auto tat = any_state();
      const Uint64 cost = Uint64::unknown("cost");
      const Instant now = any_time("now", law);
      given(cost <= law.quota_);
      const auto first = law.spend(tat, cost, now);
      given(!first.decision.admitted);
      claim(first.decision.wait > 0, "the wait is positive");
      const Instant then{now.ns + first.decision.wait};
      given(then.ns <= law.latest_);
      claim(law.admits(after(tat, first), cost, then), "admitted after the wait");
      claim(!law.admits(after(tat, first), cost, Instant{then.ns - 1}), "denied 1 ns earlier");
    });
  }

  // A cost above the quota is denied for ever, and takes nothing.
  static void never() {
    for_laws("never", {Reset::full}, [](const Law& law) {
      const auto tat = any_state();
      const Uint64 cost = Uint64::unknown("cost");
      given(cost > law.quota_);
      const auto step = law.spend(tat, cost, any_time("now", law));
      claim(!step.decision.admitted && step.decision.wait == Decision::never, "denied for ever");
    });
  }

  // A clock that goes back never grants what it would not have granted before.
  static void earlier() {
    for_laws("earlier", {Reset::full}, [](const Law& law) {
      const auto tat = any_state();
      const Uint64 cost = Uint64::unknown("cost");
      const Instant before = any_time("before", law);
      const Instant now = later(before, law);
      // Below the largest debt, from which on the clock is known to have gone back.
      if (tat) given(*tat <= law.ticks(before) + law.window_ + law.debt_);
      if (law.admits(tat, cost, before)) {
        claim(law.admits(tat, cost, now), "admitted earlier, admitted later");
      }
      claim(law.peek(tat, 0, before).decision.remaining <= law.peek(tat, 0, now).decision.remaining,
            "r is never larger at an earlier time");
    });
  }

  // An admitted cost moves the state by exactly its time, and never beyond a window from now: so
  // no span of time admits more than the quota and what comes back in it.
  static void charge() {
    for_laws("charge", {Reset::full}, [](const Law& law) {
      const auto tat = any_state();
      const Uint64 cost = Uint64::unknown("cost");
      const Instant now = any_time("now", law);
      const Ticks at = law.ticks(now);
      if (tat) given(*tat <= at + law.window_ + law.debt_);
      const auto step = law.spend(tat, cost, now);
      given(step.decision.admitted && cost >= 1);
      const Ticks from = tat && *tat > at ? *tat : at;
      claim(step.changed && step.state == from + static_cast<Ticks>(cost) * law.interval_,
            "the state moves by the cost");
      claim(step.state <= at + law.window_, "not beyond a window from now");
    });
  }

  // A law with a delay admits what the law without one admits, and what that one would admit within
  // the delay; the wait is that of its denial. Both charge alike.
  static void delay() {
    named("delay", [] {
      const Law prompt = any_law(Denied::free, Reset::full);
      Law patient = prompt;
      patient.at_once_ = 0;
      patient.ahead_ = any_ticks("ahead");
      given(patient.ahead_ >= 1 && patient.ahead_ <= patient.debt_);
      const auto tat = any_state();
      const Uint64 cost = Uint64::unknown("cost");
      given(cost <= prompt.quota_);
      const Instant now = any_time("now", prompt);
      const Ticks at = prompt.ticks(now);
      const auto step = patient.spend(tat, cost, now);
      const auto usual = prompt.spend(tat, cost, now);
      const Ticks lacking = prompt.until(cost, prompt.clamped(tat, at), at);
      if (usual.decision.admitted) {
        claim(step.decision.admitted && step.decision.wait == 0, "what is free does not wait");
        claim(after(tat, step) == after(tat, usual), "what is free is charged alike");
      } else if (step.decision.admitted) {
        claim(step.decision.wait == usual.decision.wait, "the wait is that of a denial");
        claim(lacking >= 1 && lacking <= patient.ahead_, "no wait is longer than the delay");
        claim(step.state == prompt.clamped(tat, at) + static_cast<Ticks>(cost) * prompt.interval_,
              "what waits is charged");
      } else {
        claim(lacking > patient.ahead_, "what could wait is not denied");
      }
      claim(patient.admits(tat, cost, now) == step.decision.admitted, "admits() says the same");
    });
  }

  // admits() says what spend() decides.
  static void admits() {
    for_laws("admits", {Reset::full}, [](const Law& law) {
      const auto tat = any_state();
      const Uint64 cost = Uint64::unknown("cost");
      const Instant now = any_time("now", law);
      const bool admitted = law.spend(tat, cost, now).decision.admitted;
      claim(law.admits(tat, cost, now) == admitted, "as spend()");
    });
  }

  // Time in ticks never goes back, whatever the instants are.
  static void clock() {
    for_laws("clock", {Reset::full}, [](const Law& law) {
      const Instant now{Int128::unknown("now")};
      const Instant then{Int128::unknown("then")};
      given(now.ns <= then.ns);
      claim(law.ticks(now) <= law.ticks(then), "later instants are later in ticks");
      claim(law.ticks(then) <= law.latest_ * law.scale_, "none is after the latest");
    });
  }

  // The short form that tables use first decides as spend() does.
  static void fast() {
    for_laws("fast path", {Reset::pace, Reset::next, Reset::full}, [](const Law& law) {
      const auto tat = any_state();
      given(tat.has_value());
      const Uint64 cost = Uint64::unknown("cost");
      const Instant now = any_time("now", law);
      const auto step = law.spend(tat, cost, now);
      Ticks state = *tat;
      if (law.spends(state, cost, law.ticks(now))) {
        Decision decision;
        law.admit(state, law.ticks(now), decision);
        claim(step.changed && step.state == state && step.decision == decision, "the same step");
      } else {
        claim(!step.decision.admitted || cost == 0, "not admitted");
      }
    });
  }

  // What else changes a state: no result leaves the bounds in which all of this is proved.
  template <class Change>
  static void in_range(const char* name, Change change) {
    for_laws(name, {Reset::full}, [&](const Law& law) {
      const auto tat = any_state();
      const Uint64 cost = Uint64::unknown("cost");
      const auto step = change(law, tat, cost, any_time("now", law));
      if (!step.changed) return;
      claim(step.state <= Law::time_max && step.state >= -Law::time_max, "a state stays in range");
    });
  }
  static void others() {
    in_range("refund", [](const Law& law, auto... request) { return law.refund(request...); });
    in_range("debit", [](const Law& law, auto... request) { return law.debit(request...); });
  }

  static void all() {
    made();
    soundness();
    tightness();
    progress();
    denial();
    never();
    earlier();
    charge();
    delay();
    admits();
    clock();
    fast();
    others();
  }
};

}  // namespace
}  // namespace headgate::proofs

// claims [NAME...]: all claims, or those whose names contain a NAME.
int main(int count, char** arguments) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  using namespace headgate::proofs;
  only.assign(arguments + 1, arguments + count);
  Claims<Int64>::all();
  Claims<Int128>::all();
  return report() ? 0 : 1;
}
