#include "headgate/limit/law.h"

namespace headgate::limit {

namespace {

std::optional<Law> linear(const Quota& quota, const Terms& terms) noexcept {
  if (!terms.exact) {
    if (const auto whole = LinearWhole::make(quota, terms)) return *whole;
  }
  if (const auto exact = LinearExact::make(quota, terms)) return *exact;
  return std::nullopt;
}

template <class L>
std::optional<Law> make_as(const Quota& quota, const Terms& terms) noexcept {
  if (const auto law = L::make(quota, terms)) return *law;
  return std::nullopt;
}

}  // namespace

std::optional<Law> make_law(const Quota& quota, const Terms& terms) noexcept {
  if (!offers(terms.algorithm, terms.denied)) return std::nullopt;
  if (terms.delay != 0 && !can_wait(terms.algorithm)) return std::nullopt;
  const bool counts_denied =
      terms.algorithm == Algorithm::fixed_window && terms.denied == Denied::spend;
  if (quota.units == 0 && !counts_denied) {
    const bool has_no_window = terms.algorithm == Algorithm::concurrency;
    if (!has_no_window && (quota.window < 1 || quota.window > Quota::window_max)) {
      return std::nullopt;
    }
    return Closed{};
  }
  switch (terms.algorithm) {
    case Algorithm::linear:
      return linear(quota, terms);
    case Algorithm::exponential:
      return make_as<Exponential>(quota, terms);
    case Algorithm::fixed_window:
      return make_as<FixedWindow>(quota, terms);
    case Algorithm::moving_window:
      return make_as<MovingWindow>(quota, terms);
    case Algorithm::sliding_window_counter:
      return make_as<SlidingWindowCounter>(quota, terms);
    case Algorithm::concurrency:
      break;
  }
  return make_as<Concurrency>(quota, terms);
}

Parameters parameters_of(const Law& law) noexcept {
  return std::visit([](const auto& alternative) { return alternative.parameters(); }, law);
}

bool denial_costs(const Law& law) noexcept {
  return std::visit([](const auto& alternative) { return alternative.denial_costs(); }, law);
}

}  // namespace headgate::limit
