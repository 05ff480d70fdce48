#include "headgate/base/testing/allocations.h"

#include <cstdlib>
#include <new>

namespace headgate {
namespace {
thread_local std::size_t count = 0;
thread_local std::size_t bytes = 0;
}  // namespace

std::size_t allocations() noexcept { return count; }
std::size_t allocated_bytes() noexcept { return bytes; }

}  // namespace headgate

void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++headgate::count;
  headgate::bytes += size;
  return std::malloc(size == 0 ? 1 : size);
}
void* operator new(std::size_t size) {
  if (void* memory = operator new(size, std::nothrow)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
