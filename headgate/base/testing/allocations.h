// For tests: counts the allocations of a test binary that links headgate_allocations, or lets one
// fail.
#pragma once

#include <cstddef>

namespace headgate {

// The number of calls of operator new by this thread so far.
[[nodiscard]] std::size_t allocations() noexcept;

// The bytes that those calls asked for.
[[nodiscard]] std::size_t allocated_bytes() noexcept;

// While it lives, one allocation fails: of the threads that live besides the one that made this,
// the one after `before` others.
class FailingAllocation {
 public:
  explicit FailingAllocation(std::size_t before) noexcept;
  ~FailingAllocation();
  FailingAllocation(const FailingAllocation&) = delete;
  FailingAllocation& operator=(const FailingAllocation&) = delete;

  // Whether it has failed.
  [[nodiscard]] bool happened() const noexcept;
};

}  // namespace headgate
