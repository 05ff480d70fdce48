// The sliding window counter: two counts, of which the earlier one fades out.
//
// Requests are counted in buckets of a window's length. Of the bucket before the current one, the
// share counts that a window ending now still covers, rounded down. Buckets start with the first
// admitted request; aligned buckets start at multiples of w, plus an offset, since 1970. The state
// is small and changes smoothly, but the advertised quota per window is kept only approximately,
// because the law assumes that the requests of the earlier bucket were spread evenly.
//
// Pure and exact: no clock, no allocation, no failure after construction. All functions are
// thread-safe. Derivation, and what is not promised: docs/algorithms.md#sliding-window-counter.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "headgate/base/instant.h"
#include "headgate/limit/answer.h"
#include "headgate/limit/coarse.h"
#include "headgate/limit/decision.h"
#include "headgate/limit/quota.h"
#include "headgate/limit/step.h"

namespace headgate::limit {

class SlidingWindowCounter {
 public:
  // The low 64 bits of the bucket's start, and two words of a 51-bit count and 13 more bits of the
  // start each. The least possible start means that there is no bucket.
  struct State {
    std::array<std::uint64_t, 3> words;
  };

  // std::nullopt if the quota is 0 or out of range, its product with the window needs more than 128
  // bits, or denials are to cost something.
  [[nodiscard]] static constexpr std::optional<SlidingWindowCounter> make(
      const Quota& quota, const Terms& terms) noexcept {
    if (!Answer::servable(quota)) return std::nullopt;
    if (terms.denied != Denied::free || terms.penalty != 0) return std::nullopt;
    if (terms.aligned && (terms.offset < 0 || terms.offset > quota.window)) return std::nullopt;
    SlidingWindowCounter law;
    law.answer_ = Answer(quota, terms);
    law.most_ = terms.late ? 2 * quota.units : quota.units;
    law.offset_ = terms.offset;
    law.aligned_ = terms.aligned;
    return law;
  }

  [[nodiscard]] constexpr std::uint64_t quota() const noexcept { return answer_.quota(); }
  [[nodiscard]] constexpr Parameters parameters() const noexcept {
    return {{answer_.quota(), answer_.window()},
            {.reset = answer_.reset(),
             .algorithm = Algorithm::sliding_window_counter,
             .late = most_ > quota(),
             .aligned = aligned_,
             .offset = offset_}};
  }
  // Whether windows follow the calendar. If so, `now` must be wall time [ns since 1970].
  [[nodiscard]] constexpr bool aligned() const noexcept { return aligned_; }
  [[nodiscard]] static constexpr bool denial_costs() noexcept { return false; }
  // The linear law for keys that share a state.
  [[nodiscard]] constexpr Coarse coarse() const noexcept {
    return {answer_, Denied::free, most_ > quota() ? answer_.window() : 0};
  }

  // Takes `cost` units at `now` if they are available.
  [[nodiscard]] constexpr Step<State> spend(const std::optional<State>& state, std::uint64_t cost,
                                            Instant now) const noexcept {
    const Nanos at = Answer::clamped(now);
    const View found = state_at(state, at);
    View view = found;
    if (cost > available(view, at)) return denied(found, cost, at);
    if (cost > 0) view.take(cost);
    return {view.state(), view.moved, admission(view, at)};
  }

  // Whether spend() would admit.
  [[nodiscard]] constexpr bool admits(const std::optional<State>& state, std::uint64_t cost,
                                      Instant now) const noexcept {
    const Nanos at = Answer::clamped(now);
    return cost <= available(state_at(state, at), at);
  }

  // Decides as spend() would and takes nothing. A cost of 0 reads the state and is never denied.
  [[nodiscard]] constexpr Step<State> peek(const std::optional<State>& state, std::uint64_t cost,
                                           Instant now) const noexcept {
    const Nanos at = Answer::clamped(now);
    const View view = state_at(state, at);
    return {view.state(), view.moved, spend(state, cost, now).decision};
  }

  // Gives back up to `cost` units: first those of the current bucket, then those of the previous
  // one. Quota::cost_max of them: all.
  [[nodiscard]] constexpr Step<State> refund(const std::optional<State>& state, std::uint64_t cost,
                                             Instant now) const noexcept {
    const Nanos at = Answer::clamped(now);
    View view = state_at(state, at);
    const bool all = cost >= Quota::cost_max;
    const std::uint64_t recent = all ? view.current : std::min(cost, view.current);
    const std::uint64_t earlier = all ? view.previous : std::min(cost - recent, view.previous);
    view.current -= recent;
    view.previous -= earlier;
    view.moved = view.moved || recent + earlier > 0;
    return {view.state(), view.moved, admission(view, at)};
  }

  // Takes `cost` units that are already spent. Never denied. The debt is at most one quota; without
  // Terms::late there is none.
  [[nodiscard]] constexpr Step<State> debit(const std::optional<State>& state, std::uint64_t cost,
                                            Instant now) const noexcept {
    const Nanos at = Answer::clamped(now);
    View view = state_at(state, at);
    const std::uint64_t used = std::min(weighted(view, at), most_);
    const std::uint64_t taken = std::min(cost, most_ - used);
    if (taken > 0) view.take(taken);
    return {view.state(), view.moved, admission(view, at)};
  }

  // Whether the state is of a later time than `now`, as if the clock had gone back.
  [[nodiscard]] constexpr bool is_ahead(const State& state, Instant now) const noexcept {
    const View view = View::of(state);
    return view.open && view.start > now.ns;
  }

  // From when on the state is not needed [ns].
  [[nodiscard]] constexpr Nanos full_at(const State& state) const noexcept {
    return View::of(state).start + 2 * answer_.window();
  }

 private:
  static constexpr int count_bits = 51;  // enough for 2 * Quota::units_max
  static constexpr std::uint64_t count_mask = (std::uint64_t{1} << count_bits) - 1;
  static_assert(2 * Quota::units_max <= count_mask);
  static constexpr Nanos no_start = -(Nanos{1} << 89);  // the least number of 90 bits
  static_assert(no_start + Quota::window_max < -Answer::latest);

  // The state at the time of a request.
  struct View {
    Nanos start = 0;
    std::uint64_t current = 0;
    std::uint64_t previous = 0;
    bool open = false;     // there is a bucket
    bool moved = false;    // differs from the stored state
    bool shifted = false;  // differs because a bucket is over

    constexpr void take(std::uint64_t cost) noexcept {
      current += cost;
      open = moved = true;
    }

    [[nodiscard]] constexpr State state() const noexcept {
      const Nanos from = open ? start : no_start;
      const auto low = static_cast<std::uint64_t>(from);
      const auto high = static_cast<std::uint64_t>(from >> 64);
      return {{low, current | high << count_bits, previous | high >> 13 << count_bits}};
    }

    [[nodiscard]] static constexpr View of(const State& state) noexcept {
      const std::uint64_t middle = state.words[1] >> count_bits;
      const auto top = static_cast<std::int64_t>(state.words[2]) >> count_bits;
      View view;
      view.start = (static_cast<Nanos>(top) * (1 << 13) + static_cast<Nanos>(middle)) *
                       (static_cast<Nanos>(1) << 64) +
                   static_cast<Nanos>(state.words[0]);
      view.current = state.words[1] & count_mask;
      view.previous = state.words[2] & count_mask;
      view.open = view.start != no_start;
      return view;
    }
  };

  [[nodiscard]] constexpr Nanos bucket_start(Nanos at) const noexcept {
    return aligned_ ? answer_.aligned(at, offset_) : at;
  }

  [[nodiscard]] constexpr View state_at(const std::optional<State>& state,
                                        Nanos at) const noexcept {
    View fresh;
    fresh.start = bucket_start(at);
    if (!state) return fresh;
    View view = View::of(*state);
    if (!view.open) return fresh;
    if (at < view.start) {
      view.start = bucket_start(at);
      view.moved = true;
      return view;
    }
    // Aligned buckets may have been others when this one was opened. It is the one that contains
    // the stored start now, and that may contain the previous one, too.
    if (const Nanos begin = bucket_start(view.start); aligned_ && begin != view.start) {
      view.start = begin;
      view.current = std::min(view.current + view.previous, count_mask);
      view.previous = 0;
    }
    const Nanos age = at - view.start;
    if (age >= 2 * answer_.window()) {
      fresh.moved = fresh.shifted = true;
      return fresh;
    }
    // A bucket that is not aligned includes its end.
    if (aligned_ ? age >= answer_.window() : age > answer_.window()) {
      view.start += answer_.window();
      view.previous = view.current;
      view.current = 0;
      view.moved = view.shifted = true;
    }
    return view;
  }

  // The counts that have an effect. What a stored count has above `most_` was counted under a
  // larger quota; it is kept for the case that this quota comes back.
  [[nodiscard]] constexpr std::uint64_t current(const View& view) const noexcept {
    return std::min(view.current, most_);
  }
  [[nodiscard]] constexpr std::uint64_t previous(const View& view) const noexcept {
    return std::min(view.previous, most_);
  }

  [[nodiscard]] constexpr std::uint64_t weighted(const View& view, Nanos at) const noexcept {
    if (view.previous == 0) return current(view);
    const auto left = static_cast<u128>(view.start + answer_.window() - at);
    const u128 share = left * previous(view);
    const auto window = static_cast<u128>(answer_.window());
    const bool narrow = (share | window) >> 64 == 0;
    return current(view) +
           (narrow ? static_cast<std::uint64_t>(share) / static_cast<std::uint64_t>(window)
                   : static_cast<std::uint64_t>(share / window));
  }

  [[nodiscard]] constexpr std::uint64_t available(const View& view, Nanos at) const noexcept {
    return quota() - std::min(weighted(view, at), quota());
  }

  [[nodiscard]] constexpr Nanos wait(const View& view, Nanos at,
                                     std::uint64_t units) const noexcept {
    if (weighted(view, at) + units <= quota()) return 0;
    const Nanos window = answer_.window();
    const Nanos left = view.start + window - at;  // until nothing of the previous bucket counts
    if (current(view) + units <= quota()) {
      // floor(previous * (left - x) / w) <= room if x > left - (room + 1) * w / previous
      const auto room = static_cast<Nanos>(quota() - current(view) - units);
      const auto fading = static_cast<Nanos>(previous(view));
      return (left * fading - (room + 1) * window) / fading + 1;
    }
    // The current bucket has to become the previous one and to fade itself:
    // floor(current * (w - y) / w) + units <= quota if y > w * (1 - (quota - units + 1) / current).
    const auto fading = static_cast<Nanos>(current(view));
    return left + window * (fading - static_cast<Nanos>(quota() - units + 1)) / fading + 1;
  }

  [[nodiscard]] constexpr Decision admission(const View& view, Nanos at) const noexcept {
    return answer_.admission(available(view, at),
                             [&](std::uint64_t units) { return wait(view, at, units); });
  }

  [[nodiscard]] constexpr Step<State> denied(const View& view, std::uint64_t cost,
                                             Nanos at) const noexcept {
    // A cost that is never admitted does not start a new bucket, unless buckets are aligned.
    const bool keep = view.moved && (cost <= quota() || aligned_ || !view.shifted);
    return {view.state(), keep, answer_.denial(available(view, at), cost, [&](std::uint64_t units) {
              return wait(view, at, units);
            })};
  }

  Answer answer_;
  std::uint64_t most_ = 0;  // the largest count that has an effect, with debts
  Nanos offset_ = 0;
  bool aligned_ = false;
};

}  // namespace headgate::limit
