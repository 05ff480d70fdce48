// For tests: counts the allocations of a test binary that links headgate_allocations, or lets one
// fail.
#pragma once

#include <cstddef>

namespace headgate {

// The number of calls of operator new by this thread so far.
[[nodiscard]] std::size_t allocations() noexcept;

// The bytes that those calls asked for.
[[nodiscard]] std::size_t allocated_bytes() noexcept;

// Whether repeat() allocates nothing in one of ten tries. Not in each: where the machine is busy, a
// turn of a door ends in the middle of its input, and what is left gets a buffer.
template <class Repeat>
[[nodiscard]] bool allocates_nothing(const Repeat& repeat) {
  for (int tries = 0; tries < 10; ++tries) {
    const std::size_t before = allocations();
    repeat();
    if (allocations() == before) return true;
  }
  return false;
}

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
