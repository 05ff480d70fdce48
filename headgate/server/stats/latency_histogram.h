// Latencies of decisions: counts in buckets of a logarithmic scale, in fixed memory.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "headgate/view/single_writer.h"

namespace headgate::server {

// One thread adds; any thread may read at the same time. Adding costs a few nanoseconds.
class LatencyHistogram {
 public:
  // Inclusive upper bounds [ns]: 1, 2 and 5 of each decade from 100 ns (the fastest decisions) to
  // 10 s (the default timeout of a request). One more bucket holds longer times.
  static constexpr std::array<std::uint64_t, 25> bounds = [] {
    std::array<std::uint64_t, 25> made{};
    std::uint64_t decade = 100;
    for (std::size_t i = 0; i < made.size(); i += 3, decade *= 10) {
      made[i] = decade;
      if (i + 1 < made.size()) made[i + 1] = 2 * decade;
      if (i + 2 < made.size()) made[i + 2] = 5 * decade;
    }
    return made;
  }();
  static constexpr std::size_t buckets = bounds.size() + 1;

  void add(std::uint64_t nanoseconds) noexcept {
    view::increase(counts_[bucket_of(nanoseconds)], 1);
    view::increase(sum_, nanoseconds);
  }

  // Plain numbers that add up several histograms. A decision that is being added at this moment may
  // be in `counts` and not yet in `sum`.
  struct Totals {
    std::array<std::uint64_t, buckets> counts{};
    std::uint64_t sum = 0;  // [ns]

    Totals& operator+=(const LatencyHistogram& histogram) noexcept;
  };

  [[nodiscard]] static std::size_t bucket_of(std::uint64_t nanoseconds) noexcept {
    std::size_t bucket = first_[static_cast<std::size_t>(std::bit_width(nanoseconds))];
    while (bucket < bounds.size() && nanoseconds > bounds[bucket]) ++bucket;
    return bucket;
  }

 private:
  // Per width of a time in bits: the lowest bucket that may hold the time, at most two too low.
  static constexpr std::array<std::uint8_t, 65> first_ = [] {
    std::array<std::uint8_t, 65> made{};
    for (std::size_t width = 0; width < made.size(); ++width) {
      const std::uint64_t least = width == 0 ? 0 : std::uint64_t{1} << (width - 1);
      while (made[width] < bounds.size() && bounds[made[width]] < least) ++made[width];
    }
    return made;
  }();

  std::array<std::atomic<std::uint64_t>, buckets> counts_{};
  std::atomic<std::uint64_t> sum_{0};
};

}  // namespace headgate::server
