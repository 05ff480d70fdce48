// A counter that one thread writes and others read, without locked instructions.
#pragma once

#include <atomic>
#include <cstdint>

namespace headgate::view {

inline void increase(std::atomic<std::uint64_t>& counter, std::uint64_t by) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}

}  // namespace headgate::view
