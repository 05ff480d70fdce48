// The cost of a charge, as HG.TAKE takes it.
//
//   5              as the command does usually: HG.TAKE spends, HG.PEEK peeks, HG.REFUND refunds
//   peek:5         another operation: spend, peek, refund or debit
//   refund:5@N     what was taken N nanoseconds after 1970 is given back
//   denied:5       a spend of a request that was denied elsewhere
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "headgate/base/instant.h"
#include "headgate/limit/law.h"

namespace headgate::redis_module {

struct Cost {
  std::uint64_t units = 0;
  limit::Op op = limit::Op::spend;
  bool denied = false;  // the request is denied, whatever is decided here
  Instant since{};      // {}: unknown

  // `may_choose`: the text may name an operation. std::nullopt if it is no cost.
  [[nodiscard]] static std::optional<Cost> read(std::string_view text, limit::Op usual,
                                                bool may_choose) noexcept;
};

}  // namespace headgate::redis_module
