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

  // A turn with more work is long: ReadySet::together_max short ones after each other delay the
  // last one by less than the 10 ms.
  static constexpr std::chrono::microseconds short_max{100};

  // Begins now. `together` connections are served at the same time.
  explicit Turn(std::size_t together) noexcept
      : begin_(Clock::now()),
        end_(begin_ + std::max<Clock::duration>(all / std::max<std::size_t>(together, 1), least)) {}

  [[nodiscard]] bool is_over() const noexcept { return Clock::now() >= end_; }

  // Called before the replies are sent: that can wake the client, which then may run on this
  // processor in place of this thread.
  void end_work() noexcept { worked_ = Clock::now() - begin_; }
  // Returns how long it worked. One request, such as /metrics, can take longer than `all`.
  [[nodiscard]] Clock::duration worked() const noexcept { return worked_; }

 private:
  Clock::time_point begin_;
  Clock::duration worked_{};
  Clock::time_point end_;
};

}  // namespace headgate::server
