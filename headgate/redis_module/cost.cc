#include "headgate/redis_module/cost.h"

#include "headgate/base/duration.h"

namespace headgate::redis_module {
namespace {

// Sets the operation that `name` is. Returns false if there is none.
bool choose(std::string_view name, Cost& cost) noexcept {
  using limit::Op;
  cost.denied = name == "denied";
  if (name == "spend" || cost.denied) {
    cost.op = Op::spend;
  } else if (name == "peek") {
    cost.op = Op::peek;
  } else if (name == "refund") {
    cost.op = Op::refund;
  } else if (name == "debit") {
    cost.op = Op::debit;
  } else {
    return false;
  }
  return true;
}

}  // namespace

std::optional<Cost> Cost::read(std::string_view text, limit::Op usual, bool may_choose) noexcept {
  Cost cost;
  cost.op = usual;
  const std::size_t colon = may_choose ? text.find(':') : std::string_view::npos;
  if (colon != std::string_view::npos) {
    if (!choose(text.substr(0, colon), cost)) return std::nullopt;
    text.remove_prefix(colon + 1);
  }
  const auto units = take_digits(text, limit::Quota::cost_max);
  if (!units) return std::nullopt;
  cost.units = static_cast<std::uint64_t>(*units);
  if (cost.op == limit::Op::refund && text.starts_with('@')) {
    text.remove_prefix(1);
    // Later than every time of a state.
    constexpr u128 most = u128{1} << 100;
    const auto since = take_digits(text, most);
    if (!since) return std::nullopt;
    cost.since = {static_cast<Nanos>(*since)};
  }
  if (!text.empty()) return std::nullopt;
  return cost;
}

}  // namespace headgate::redis_module
