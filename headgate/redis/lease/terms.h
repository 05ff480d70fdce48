// The law of a leased key, as lease.lua takes it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "headgate/base/instant.h"
#include "headgate/limit/law.h"
#include "headgate/limit/quota.h"

namespace headgate::redis {

// A value.
struct LeaseTerms {
  enum class Kind : std::uint8_t { linear, window };

  Kind kind = Kind::linear;
  std::uint64_t most = 0;   // that may be out
  std::uint64_t burst = 0;  // what the law gives at once
  // Linear: in `length` [ns] come back `count` units. Window: its length [ns], and 1.
  std::int64_t length = 0;
  std::int64_t count = 1;
  std::int64_t offset = -1;  // of aligned windows [ns]; -1: they are not

  // `leased`: as limit::leasable() returns it for this law. std::nullopt if that is 0.
  [[nodiscard]] static std::optional<LeaseTerms> make(const limit::Law& law,
                                                      std::uint64_t leased) noexcept;

  // The time in which so many units come back [ns], rounded up. REQUIRES: linear.
  [[nodiscard]] Nanos span(std::uint64_t units) const noexcept {
    return ceil_div(static_cast<Nanos>(units) * length, Nanos{count});
  }

  // The units that come back in a time [ns], rounded down. REQUIRES: linear, and the time is 0 or a
  // span() of some law.
  [[nodiscard]] std::uint64_t units_in(Nanos time) const noexcept {
    return static_cast<std::uint64_t>(
        std::min(time * count / length, static_cast<Nanos>(limit::Quota::cost_max)));
  }

  friend constexpr bool operator==(const LeaseTerms&, const LeaseTerms&) = default;
};

}  // namespace headgate::redis
