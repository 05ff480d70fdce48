#include "headgate/redis/lease/lease.h"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>

namespace headgate::redis {
namespace {

constexpr Nanos nanos_per_micro = 1000;

template <class L>
constexpr bool is_linear =
    std::is_same_v<L, limit::LinearWhole> || std::is_same_v<L, limit::LinearExact>;

// REQUIRES: 0 <= span.
Lease::Span span_of(Nanos span, Lease::Span most) noexcept {
  return span > Nanos{most.count()} ? most : Lease::Span(static_cast<Lease::Span::rep>(span));
}

limit::FixedWindow::State state_of(Nanos start, std::uint64_t used) noexcept {
  return {static_cast<std::int64_t>(start >> 64), static_cast<std::uint64_t>(start), used};
}

}  // namespace

// ---- showing

// Never later than Redis' clock, so that no wait is too short.
Instant Lease::redis_time(Time now) const noexcept {
  const Span since = now - answered_;
  return {redis_now_.ns + Nanos{(since - drift(since)).count()}};
}

limit::Decision Lease::decision(const store::Charge& charge, Found found, Time now) const noexcept {
  const std::uint64_t held = now < end_ ? held_ : 0;
  const std::uint64_t cost = found == Found::admitted ? 0 : charge.cost;
  const Instant at = redis_time(now);
  // Of what the law gives, Redis keeps `most` units back; what is held here is there besides.
  limit::Decision shown = std::visit(
      [&]<class L>(const L& law) -> limit::Decision {
        if constexpr (is_linear<L>) {
          using Ticks = typename L::State;
          const Ticks full_at = law.state_from(Nanos{first_} * nanos_per_second + second_);
          const Ticks kept_back = static_cast<Ticks>(terms_.most) - static_cast<Ticks>(held);
          return law.peek(std::max(full_at, law.ticks(at)) + kept_back * law.interval(), cost, at)
              .decision;
        } else if constexpr (std::is_same_v<L, limit::FixedWindow>) {
          const auto given = static_cast<std::uint64_t>(second_);
          const Nanos start = Nanos{first_} * nanos_per_micro - law.window();
          return law.peek(state_of(start, given - std::min(given, held)), cost, at).decision;
        } else {
          return {.admitted = true};
        }
      },
      *charge.law);
  const bool rests = now < rest_end_;
  if (rests) shown.remaining = std::min(shown.remaining, held + rest_cost_ - 1);
  if (found == Found::unknown && shown.admitted) {
    found = rests && cost >= rest_cost_ && cost > held ? Found::denied : Found::admitted;
  }
  if (found == Found::admitted) return shown;
  shown.admitted = false;
  shown.remaining = std::min(shown.remaining, charge.cost - 1);
  if (charge.cost > terms_.burst) {
    shown.reset = limit::Decision::no_reset;
    shown.wait = limit::Decision::never;
  } else {
    if (rests) shown.wait = std::max(shown.wait, Nanos{(rest_end_ - now).count()});
    if (is_known_ && owes_more()) {
      shown.wait = std::max(shown.wait, until(charge.cost) - (at.ns - redis_now_.ns));
    }
    shown.wait = std::max(shown.wait, Nanos{1});
    shown.reset = ceil_seconds(shown.wait);
  }
  return shown;
}

// ---- asking

void Lease::set_terms(const LeaseTerms& terms, Time now) noexcept {
  back_ += held_back(now);
  if (terms.kind == LeaseTerms::Kind::linear) {
    // A unit of another quota is another part of the window.
    back_ = terms.units_in(terms_.span(back_));
    if (refund_ < limit::Quota::cost_max) refund_ = terms.units_in(terms_.span(refund_));
  }
  terms_ = terms;
  end_denials();
}

// What was held, to be given back.
std::uint64_t Lease::held_back(Time now) noexcept {
  const std::uint64_t held = std::exchange(held_, 0);
  // Under a linear law they come back by themselves, and others may have spent them since.
  const bool is_lost = now >= end_ && terms_.kind == LeaseTerms::Kind::linear;
  return is_lost ? 0 : held;
}

LeaseAsk Lease::begin(std::uint64_t number, Time now, bool gives_back) noexcept {
  if (now >= end_ || gives_back) back_ += held_back(now);
  is_asking_ = true;
  is_low_ = false;
  number_ = number;
  asked_ = now;
  LeaseAsk ask;
  ask.number = number;
  ask.have = held_;
  ask.back = std::exchange(back_, 0);
  ask.refund = std::exchange(refund_, 0);
  ask.window = terms_.kind == LeaseTerms::Kind::window ? first_ : 0;
  ask.at = now;
  return ask;
}

// A lump is as large as what was spent lately: of a key that is seldom used, no unit lies idle.
LeaseAsk Lease::ask(std::uint64_t number, Time now, bool is_short) noexcept {
  const std::uint64_t most = std::max<std::uint64_t>(terms_.most / holders_, 1);
  const bool is_first = number_ == 0;
  if (!is_first && now - asked_ < lump_lasts) {
    lump_ = std::min(std::max<std::uint64_t>(2 * lump_, 1), most);
  } else {
    lump_ = std::min(lump_ / 2, most);
  }
  // Together with what Redis has, what is here may be enough.
  LeaseAsk ask = begin(number, now, is_short);
  ask.want = lump_ - std::min(lump_, ask.have);
  return ask;
}

LeaseAsk Lease::ask_nothing(std::uint64_t number, Time now) noexcept {
  lump_ /= 2;
  return begin(number, now, true);
}

void Lease::answer(const LeaseAsk& ask, const LeaseReply& reply, Time now) noexcept {
  is_asking_ = false;
  const bool is_window = terms_.kind == LeaseTerms::Kind::window;
  if (is_window && reply.first != first_) back_ = 0;  // of a window that is over
  if (!reply.is_kept) held_ = 0;
  held_ += reply.given;
  is_known_ = true;
  redis_now_ = reply.now;
  answered_ = now;
  first_ = reply.first;
  second_ = reply.second;
  holders_ = std::max<std::uint64_t>(reply.holders, 1);
  Span lasts = spent_for;
  if (is_window) {
    // Redis' clock shows microseconds, rounded down.
    const Nanos rest = (Nanos{first_} - 1) * nanos_per_micro - reply.now.ns;
    lasts = span_of(std::max(rest, Nanos{0}), lasts);
    lasts -= drift(lasts);
  }
  end_ = ask.at + lasts;
}

// Of a linear law, when Redis answered: until all units are back [ns].
Nanos Lease::debt() const noexcept {
  return std::max(Nanos{first_} * nanos_per_second + second_ - redis_now_.ns, Nanos{0});
}

// Whether more is owed than the law gives at once: another law has given it.
bool Lease::owes_more() const noexcept {
  return terms_.kind == LeaseTerms::Kind::linear && debt() > terms_.span(terms_.burst);
}

// The time from Redis' last answer until so many units can be given [ns].
Nanos Lease::until(std::uint64_t units) const noexcept {
  if (terms_.kind == LeaseTerms::Kind::window) {
    return std::max(Nanos{first_} * nanos_per_micro - redis_now_.ns, Nanos{0});
  }
  return std::max(debt() + terms_.span(units) - terms_.span(terms_.burst), Nanos{0});
}

void Lease::rest(const LeaseAsk& ask, std::uint64_t cost) noexcept {
  const Span denied = span_of(until(cost), rest_max);
  const Span gathers =
      std::min(span_of(until(holders_ * std::max<std::uint64_t>(lump_, 1)), rest_max), gathering);
  rest_cost_ = gathers > denied ? 1 : cost;
  const Span rests = std::max(denied, gathers);
  rest_end_ = ask.at + rests - drift(rests);
}

void Lease::fail(Time now) noexcept {
  is_asking_ = false;
  ask_after_ = now + failure_rest;
}

}  // namespace headgate::redis
