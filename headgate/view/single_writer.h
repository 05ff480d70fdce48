// A counter that one thread writes and others read, without locked instructions.
#pragma once

#include <atomic>
#include <cstdint>

namespace headgate::view {

// A release store: who reads it with acquire order sees what the thread has stored before, such as
// that a list's key has changed.
inline void increase(std::atomic<std::uint64_t>& counter, std::uint64_t by) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_release);
}

}  // namespace headgate::view
