// How long a connection may keep its thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace headgate::server {

// The time in which one connection is served. Then it waits until all others that are ready were
// served, however much input it has left.
class Turn {
 public:
  using Clock = std::chrono::steady_clock;

  // The turns of all connections that are served together take about this long: short beside the
  // 10 ms that a client may notice, long beside the 0.2 us that one decision takes.
  static constexpr std::chrono::microseconds all{1000};
  // Less than this would be spent on changing from one connection to the next.
  static constexpr std::chrono::microseconds least{50};

  // A turn is long if it took more: ReadySet::together_max short ones after each other delay the
  // last one by less than the 10 ms.
  static constexpr std::chrono::microseconds short_max{100};

  // Begins now. `together` connections are served at the same time.
  explicit Turn(std::size_t together) noexcept
      : begin_(Clock::now()),
        end_(begin_ + std::max<Clock::duration>(all / std::max<std::size_t>(together, 1), least)) {}

  [[nodiscard]] bool is_over() const noexcept { return Clock::now() >= end_; }
  // Whether it was long until now: one request, such as /metrics, can take more time than `all`.
  [[nodiscard]] bool is_long() const noexcept { return Clock::now() - begin_ > short_max; }

 private:
  Clock::time_point begin_;
  Clock::time_point end_;
};

}  // namespace headgate::server
