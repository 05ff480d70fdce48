// One key's state under any law: read from what Redis keeps, changed by charges, written as bytes.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include "headgate/limit/law.h"
#include "headgate/redis/linear_text.h"
#include "headgate/redis/record_log.h"
#include "headgate/store/apply_op.h"
#include "headgate/store/charge.h"

namespace headgate::redis {

// A value. `law` must outlive it. Not thread-safe. Only a law with a log uses memory of the log's
// allocator, and may throw what that throws.
template <class RecordLog>
class BasicKeyState {
 public:
  // `bytes`: what Redis keeps under redis_key(); empty: no state. Bytes that no such state has are
  // none, either.
  BasicKeyState(const limit::Law& law, std::string_view bytes);

  // Whether there were bytes that no state of this law has.
  [[nodiscard]] bool is_foreign() const noexcept { return is_foreign_; }

  // Applies a charge, with another op and cost than its own.
  limit::Decision apply(const store::Charge& charge, limit::Op op, std::uint64_t cost, Instant now);
  limit::Decision apply(const store::Charge& charge, Instant now) {
    return apply(charge, charge.op, charge.cost, now);
  }

  // Whether a charge has changed the state.
  [[nodiscard]] bool is_changed() const noexcept {
    const auto* const log = std::get_if<RecordLog>(&state_);
    return log != nullptr ? log->is_changed() : is_changed_;
  }

  // Where write() may put the bytes of a small state.
  using Room = LinearText::Room;
  // What Redis is to keep; empty: nothing. A view into `room` or this.
  [[nodiscard]] std::string_view write(Room& room) const noexcept;
  [[nodiscard]] std::string bytes() const {
    Room room;
    return std::string(write(room));
  }
  // From when on the state is not needed [ns]. REQUIRES: the law has a log, or bytes() are not
  // empty.
  [[nodiscard]] Nanos full_at() const;

 private:
  template <class L>
  using Words = std::optional<typename L::State>;
  template <class L>
  static constexpr bool is_linear =
      std::is_same_v<L, limit::LinearWhole> || std::is_same_v<L, limit::LinearExact>;
  template <class L>
  static constexpr bool has_log =
      std::is_same_v<L, limit::MovingWindow> || std::is_same_v<L, limit::Concurrency>;

  template <class L>
  [[nodiscard]] static Words<L> linear_state(const L& law, std::string_view bytes) noexcept;
  template <class L>
  [[nodiscard]] static Words<L> words_of(std::string_view bytes) noexcept;

  const limit::Law* law_;
  // Of a law with a log, the log; of a law without a state, std::monostate.
  std::variant<std::monostate, Words<limit::LinearWhole>, Words<limit::LinearExact>,
               Words<limit::Exponential>, Words<limit::FixedWindow>,
               Words<limit::SlidingWindowCounter>, RecordLog>
      state_;
  bool is_foreign_ = false;
  bool is_changed_ = false;  // of a state without a log
};

using KeyState = BasicKeyState<RecordLog>;

template <class RecordLog>
BasicKeyState<RecordLog>::BasicKeyState(const limit::Law& law, std::string_view bytes)
    : law_(&law) {
  std::visit(
      [&]<class L>(const L& one) {
        if constexpr (std::is_same_v<L, limit::Closed>) {
          state_ = std::monostate{};
        } else if constexpr (has_log<L>) {
          is_foreign_ = !RecordLog::reads(bytes);
          state_.template emplace<RecordLog>(is_foreign_ ? std::string_view() : bytes);
        } else {
          Words<L> words;
          if constexpr (is_linear<L>) {
            words = linear_state(one, bytes);
          } else {
            words = words_of<L>(bytes);
          }
          is_foreign_ = !words && !bytes.empty();
          state_ = words;
        }
      },
      law);
}

// A fraction of another scale is rounded up.
template <class RecordLog>
template <class L>
std::optional<typename L::State> BasicKeyState<RecordLog>::linear_state(
    const L& law, std::string_view bytes) noexcept {
  const auto text = LinearText::parse(bytes);
  if (!text) return std::nullopt;
  if (text->scale != static_cast<Nanos>(law.scale())) {
    return law.state_from(text->ns + (text->part > 0 ? 1 : 0));
  }
  const auto whole = law.state_from(text->ns);
  const bool fits = static_cast<Nanos>(whole) == text->ns * text->scale;
  return fits ? whole + static_cast<typename L::State>(text->part) : whole;
}

template <class RecordLog>
template <class L>
std::optional<typename L::State> BasicKeyState<RecordLog>::words_of(
    std::string_view bytes) noexcept {
  typename L::State state;
  if (bytes.size() != sizeof state) return std::nullopt;
  std::memcpy(&state, bytes.data(), sizeof state);
  if constexpr (requires { state.time(); }) {
    if (!limit::Answer::is_sane(state.time()) || !(state.rate >= 0)) return std::nullopt;
  } else if constexpr (requires { state.start(); }) {
    if (!limit::Answer::is_sane(state.start())) return std::nullopt;
  }
  return state;
}

template <class RecordLog>
limit::Decision BasicKeyState<RecordLog>::apply(const store::Charge& charge, limit::Op op,
                                                std::uint64_t cost, Instant now) {
  return std::visit(
      [&]<class L>(const L& one) {
        if constexpr (std::is_same_v<L, limit::Closed>) {
          const bool decides = op == limit::Op::spend || op == limit::Op::peek;
          return one.decide(decides ? cost : 0);
        } else if constexpr (has_log<L>) {
          auto& log = std::get<RecordLog>(state_);
          log.make_room();
          return store::apply_op(one, log, op, cost, now, charge.since);
        } else {
          auto& words = std::get<Words<L>>(state_);
          const auto step = store::apply_op(one, words, op, cost, now);
          if (step.changed) {
            words = step.state;
            is_changed_ = true;
          }
          return step.decision;
        }
      },
      *law_);
}

template <class RecordLog>
std::string_view BasicKeyState<RecordLog>::write(Room& room) const noexcept {
  return std::visit(
      [&]<class L>(const L& one) -> std::string_view {
        if constexpr (std::is_same_v<L, limit::Closed>) {
          return {};
        } else if constexpr (has_log<L>) {
          return std::get_if<RecordLog>(&state_)->bytes();
        } else {
          const auto& words = *std::get_if<Words<L>>(&state_);
          if (!words) return {};
          if constexpr (is_linear<L>) {
            const auto scale = static_cast<Nanos>(one.scale());
            const auto tat = static_cast<Nanos>(*words);
            const Nanos ns = floor_div(tat, scale);
            return LinearText{ns, tat - ns * scale, scale}.write(room);
          } else {
            std::memcpy(room.data(), &*words, sizeof *words);
            return {room.data(), sizeof *words};
          }
        }
      },
      *law_);
}

template <class RecordLog>
Nanos BasicKeyState<RecordLog>::full_at() const {
  return std::visit(
      [&]<class L>(const L& one) -> Nanos {
        if constexpr (std::is_same_v<L, limit::Closed>) {
          return 0;
        } else if constexpr (has_log<L>) {
          return one.full_at(std::get<RecordLog>(state_));
        } else {
          return one.full_at(*std::get<Words<L>>(state_));
        }
      },
      *law_);
}

}  // namespace headgate::redis
