// The law of a leased key, as lease.lua takes it.
#pragma once

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

  // The units that come back in a time [ns], rounded down, at most Quota::cost_max. REQUIRES:
  // linear, and the time is not negative.
  [[nodiscard]] std::uint64_t units_in(Nanos time) const noexcept {
    constexpr std::uint64_t most_units = limit::Quota::cost_max;
    if (time >= span(most_units)) return most_units;  // also, no product below is too large
    return static_cast<std::uint64_t>(time * count / length);
  }

  friend constexpr bool operator==(const LeaseTerms&, const LeaseTerms&) = default;
};

}  // namespace headgate::redis
