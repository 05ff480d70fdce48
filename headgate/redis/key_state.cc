#include "headgate/redis/key_state.h"

#include <cstring>
#include <type_traits>

#include "headgate/redis/linear_text.h"
#include "headgate/store/apply_op.h"

namespace headgate::redis {
namespace {

template <class L>
constexpr bool is_linear =
    std::is_same_v<L, limit::LinearWhole> || std::is_same_v<L, limit::LinearExact>;
template <class L>
constexpr bool has_log =
    std::is_same_v<L, limit::MovingWindow> || std::is_same_v<L, limit::Concurrency>;

// A fraction of another scale is rounded up.
template <class L>
std::optional<typename L::State> linear_state(const L& law, std::string_view bytes) {
  const auto text = LinearText::parse(bytes);
  if (!text) return std::nullopt;
  if (text->scale != static_cast<Nanos>(law.scale())) {
    return law.state_from(text->ns + (text->part > 0 ? 1 : 0));
  }
  const auto whole = law.state_from(text->ns);
  const bool fits = static_cast<Nanos>(whole) == text->ns * text->scale;
  return fits ? whole + static_cast<typename L::State>(text->part) : whole;
}

template <class L>
std::string linear_bytes(const L& law, typename L::State tat) {
  const auto scale = static_cast<Nanos>(law.scale());
  const Nanos ns = floor_div(static_cast<Nanos>(tat), scale);
  return LinearText{ns, static_cast<Nanos>(tat) - ns * scale, scale}.text();
}

// Whether a step writes no more than that the count of a window is above this machine's quota. Another
// machine, whose file has a larger one, has counted that.
template <class State>
bool only_forgets(const std::optional<State>& before, const State& after, limit::Op op) {
  if constexpr (std::is_same_v<State, limit::FixedWindow::State>) {
    return before && op != limit::Op::refund && after.start() == before->start() &&
           after.used < before->used;
  }
  return false;
}

}  // namespace

KeyState::KeyState(const limit::Law& law, std::string_view bytes) : law_(&law) {
  std::visit(
      [&]<class L>(const L& one) {
        if constexpr (std::is_same_v<L, limit::Closed>) {
          state_ = std::monostate{};
        } else if constexpr (has_log<L>) {
          state_ = RecordLog(bytes);
        } else if constexpr (is_linear<L>) {
          state_ = linear_state(one, bytes);
        } else {
          Words<L> words;
          if (bytes.size() == sizeof *words) {
            std::memcpy(&words.emplace(), bytes.data(), sizeof *words);
          }
          state_ = words;
        }
      },
      law);
}

limit::Decision KeyState::apply(const store::Charge& charge, limit::Op op, std::uint64_t cost,
                                Instant now) {
  return std::visit(
      [&]<class L>(const L& one) {
        if constexpr (std::is_same_v<L, limit::Closed>) {
          const bool decides = op == limit::Op::spend || op == limit::Op::peek;
          return one.decide(decides ? cost : 0);
        } else if constexpr (has_log<L>) {
          return store::apply_op(one, std::get<RecordLog>(state_), op, cost, now, charge.since);
        } else {
          auto& words = std::get<Words<L>>(state_);
          const auto step = store::apply_op(one, words, op, cost, now);
          if (step.changed && !only_forgets(words, step.state, op)) words = step.state;
          return step.decision;
        }
      },
      *law_);
}

std::string KeyState::bytes() const {
  return std::visit(
      [&]<class L>(const L& one) -> std::string {
        if constexpr (std::is_same_v<L, limit::Closed>) {
          return {};
        } else if constexpr (has_log<L>) {
          return std::string(std::get<RecordLog>(state_).bytes());
        } else {
          const auto& words = std::get<Words<L>>(state_);
          if (!words) return {};
          if constexpr (is_linear<L>) {
            return linear_bytes(one, *words);
          } else {
            return {reinterpret_cast<const char*>(&*words), sizeof *words};
          }
        }
      },
      *law_);
}

Nanos KeyState::full_at() const {
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
