#include "headgate/base/testing/allocations.h"

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace headgate {
namespace {
thread_local std::size_t count = 0;
thread_local std::size_t bytes = 0;

std::atomic<std::int64_t> until_failure{-1};  // -1: none fails
thread_local bool is_spared = false;

bool fails() noexcept {
  return !is_spared && until_failure.load(std::memory_order_relaxed) >= 0 &&
         until_failure.fetch_sub(1) == 0;
}
}  // namespace

std::size_t allocations() noexcept { return count; }
std::size_t allocated_bytes() noexcept { return bytes; }

FailingAllocation::FailingAllocation(std::size_t before) noexcept {
  is_spared = true;
  until_failure = static_cast<std::int64_t>(before);
}
FailingAllocation::~FailingAllocation() {
  until_failure = -1;
  is_spared = false;
}
bool FailingAllocation::happened() const noexcept { return until_failure < 0; }

}  // namespace headgate

void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  if (headgate::fails()) return nullptr;
  ++headgate::count;
  headgate::bytes += size;
  return std::malloc(size == 0 ? 1 : size);
}
void* operator new(std::size_t size) {
  if (void* memory = operator new(size, std::nothrow)) return memory;
  throw std::bad_alloc();
}
// As Asio allocates. Not counted.
extern "C" void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  void* memory = nullptr;
  if (headgate::fails() || posix_memalign(&memory, alignment, size) != 0) return nullptr;
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
