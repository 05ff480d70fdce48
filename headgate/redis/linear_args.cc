#include "headgate/redis/linear_args.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <variant>

namespace headgate::redis {
namespace {

// A second in ticks is at most 2^52, so that a sum of two numbers of ticks is below 2^53.
constexpr Nanos scale_max = (Nanos{1} << 52) / nanos_per_second;
// A sum of three spans and a time [s] is below 2^53: the longest window has 10^15 s, which is less
// than 2^50.
constexpr Nanos seconds_max = Nanos{1} << 50;
// Later than every debt [s].
constexpr double endless = 4503599627370496;  // 2^52

// The numbers of `op` in take.lua.
enum class ScriptOp : char { spend = 1, spend_always, peek, look, never, refund, debit };

// A span of ticks as two numbers.
void append_span(Nanos ticks, Nanos scale, std::string& out) {
  const Nanos second = nanos_per_second * scale;
  const std::array<double, 2> limbs{static_cast<double>(ticks / second),
                                    static_cast<double>(ticks % second)};
  out.append(reinterpret_cast<const char*>(limbs.data()), sizeof limbs);
}

void append_number(double value, std::string& out) {
  static_assert(std::endian::native == std::endian::little);
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <class L>
ScriptOp op_of(const L& law, const store::Charge& charge) noexcept {
  using limit::Op;
  switch (charge.op) {
    case Op::refund:
      return ScriptOp::refund;
    case Op::debit:
      return ScriptOp::debit;
    case Op::spend:
    case Op::peek:
      break;
  }
  const bool peeks = charge.op == Op::peek;
  if (charge.cost > law.quota()) return ScriptOp::never;
  if (charge.cost == 0 && (peeks || !law.denial_costs())) return ScriptOp::look;
  if (peeks) return ScriptOp::peek;
  return law.denial_costs() ? ScriptOp::spend_always : ScriptOp::spend;
}

template <class L>
void append(const L& law, const store::Charge& charge, std::string& out) {
  const auto scale = static_cast<Nanos>(law.scale());
  const auto window = static_cast<Nanos>(law.window());
  const auto debt = static_cast<Nanos>(law.debt());
  const ScriptOp op = op_of(law, charge);
  const bool owes_more = op == ScriptOp::refund && law.denial_costs();
  const Nanos most = window + debt + (owes_more ? window : 0);
  const auto interval = static_cast<Nanos>(law.interval());
  // A refund gives back the largest debt at most, and no other charge is more than two quotas.
  const Nanos units_max =
      op == ScriptOp::refund ? ceil_div(most, interval) : static_cast<Nanos>(2 * law.quota());
  const auto units = std::min(static_cast<Nanos>(charge.cost), units_max);
  const bool gives_all = op == ScriptOp::refund && charge.cost >= limit::Quota::cost_max;
  out += static_cast<char>(op);
  append_number(static_cast<double>(scale), out);
  append_span(gives_all ? most : units * interval, scale, out);
  append_span(window + static_cast<Nanos>(law.ahead()), scale, out);
  const bool corrects = op == ScriptOp::peek || op == ScriptOp::look || op == ScriptOp::never;
  if (law.denial_costs() && corrects) {
    append_number(endless, out);
    append_number(0, out);
  } else {
    append_span(most, scale, out);
  }
}

template <class L>
constexpr bool is_linear =
    std::is_same_v<L, limit::LinearWhole> || std::is_same_v<L, limit::LinearExact>;

}  // namespace

bool decided_by_script(const store::Charge& charge, const std::optional<Instant>& given) noexcept {
  if (given && (given->ns < 0 || given->ns / nanos_per_second > seconds_max)) return false;
  return std::visit(
      []<class L>(const L& law) {
        if constexpr (is_linear<L>) {
          const auto scale = static_cast<Nanos>(law.scale());
          const Nanos longest = (static_cast<Nanos>(law.window()) + law.debt()) / scale;
          return scale <= scale_max && longest / nanos_per_second < 2 * seconds_max;
        } else {
          return false;
        }
      },
      *charge.law);
}

void append_linear_args(const store::Charge& charge, std::string& out) {
  std::visit(
      [&]<class L>(const L& law) {
        if constexpr (is_linear<L>) append(law, charge, out);
      },
      *charge.law);
}

void append_time(Instant now, double kept, std::string& out) {
  append_span(now.ns, 1, out);
  append_number(kept, out);
}

}  // namespace headgate::redis
