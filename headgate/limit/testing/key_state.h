// One key's state in ordinary memory, under any law: for tests.
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>
#include <type_traits>
#include <variant>

#include "headgate/limit/law.h"
#include "headgate/limit/testing/vector_log.h"

namespace headgate::limit {

// A value: a test copies it to try out a request. REQUIRES: always the same law.
class KeyState {
 public:
  explicit KeyState(std::size_t log_room = ~std::size_t{0}) noexcept : log_(log_room) {}

  Decision take(const Law& law, Op op, std::uint64_t cost, Instant now, Instant since = {}) {
    return std::visit([&](const auto& one) { return apply(one, op, cost, now, since); }, law);
  }
  Decision spend(const Law& law, std::uint64_t cost, Instant now) {
    return take(law, Op::spend, cost, now);
  }
  // A peek of cost 0, of a copy: does not change the state.
  [[nodiscard]] Decision peek(const Law& law, Instant now) const {
    return KeyState(*this).take(law, Op::peek, 0, now);
  }
  [[nodiscard]] bool admits(const Law& law, std::uint64_t cost, Instant now) const {
    return std::visit([&](const auto& one) { return admits_under(one, cost, now); }, law);
  }
  // From when on the state is not needed [ns]; std::nullopt if there is none.
  [[nodiscard]] std::optional<Nanos> full_at(const Law& law) const {
    return std::visit([&](const auto& one) { return full_under(one); }, law);
  }

  [[nodiscard]] const VectorLog& log() const noexcept { return log_; }
  template <class L>
  [[nodiscard]] const std::optional<typename L::State>& state() const noexcept {
    return std::get<Held<L>>(states_).state;
  }

 private:
  template <class L>
  struct Held {
    std::optional<typename L::State> state;
  };
  template <class L>
  static constexpr bool has_log = std::is_same_v<L, MovingWindow> || std::is_same_v<L, Concurrency>;

  static Decision apply(const Closed& law, Op op, std::uint64_t cost, Instant, Instant) {
    return law.decide(op == Op::spend || op == Op::peek ? cost : 0);
  }
  template <class L>
  Decision apply(const L& law, Op op, std::uint64_t cost, Instant now, Instant since) {
    if constexpr (has_log<L>) {
      switch (op) {
        case Op::spend:
          return law.spend(log_, cost, now);
        case Op::peek:
          return law.peek(log_, cost, now);
        case Op::refund:
          return law.refund(log_, cost, now, since);
        case Op::debit:
          break;
      }
      return law.debit(log_, cost, now);
    } else {
      auto& state = std::get<Held<L>>(states_).state;
      const auto step = op == Op::spend    ? law.spend(state, cost, now)
                        : op == Op::peek   ? law.peek(state, cost, now)
                        : op == Op::refund ? law.refund(state, cost, now)
                                           : law.debit(state, cost, now);
      if (step.changed) state = step.state;
      return step.decision;
    }
  }

  static bool admits_under(const Closed& law, std::uint64_t cost, Instant) {
    return law.decide(cost).admitted;
  }
  template <class L>
  bool admits_under(const L& law, std::uint64_t cost, Instant now) const {
    if constexpr (has_log<L>) {
      return law.admits(log_, cost, now);
    } else {
      return law.admits(state<L>(), cost, now);
    }
  }

  static std::optional<Nanos> full_under(const Closed&) { return std::nullopt; }
  template <class L>
  std::optional<Nanos> full_under(const L& law) const {
    if constexpr (has_log<L>) {
      if (log_.size() == 0) return std::nullopt;
      return law.full_at(log_);
    } else {
      if (!state<L>()) return std::nullopt;
      return law.full_at(*state<L>());
    }
  }

  std::tuple<Held<LinearWhole>, Held<LinearExact>, Held<Exponential>, Held<FixedWindow>,
             Held<SlidingWindowCounter>>
      states_;
  VectorLog log_;
};

}  // namespace headgate::limit
