// The names of the algorithms, as policy files write them.
#pragma once

#include <string_view>

#include "headgate/limit/quota.h"

namespace headgate::policy {

[[nodiscard]] constexpr std::string_view algorithm_name(limit::Algorithm algorithm) noexcept {
  switch (algorithm) {
    case limit::Algorithm::linear:
      return "linear";
    case limit::Algorithm::exponential:
      return "exponential";
    case limit::Algorithm::fixed_window:
      return "fixed-window";
    case limit::Algorithm::moving_window:
      return "moving-window";
    case limit::Algorithm::sliding_window_counter:
      return "sliding-window-counter";
    case limit::Algorithm::concurrency:
      return "concurrency";
  }
  return "";
}

}  // namespace headgate::policy
