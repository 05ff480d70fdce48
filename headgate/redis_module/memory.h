// Memory of Redis' own allocator, so that its INFO and maxmemory count it.
#pragma once

#include <cstddef>

#include "headgate/redis_module/api.h"

namespace headgate::redis_module {

// For the standard containers. Redis ends the process if there is no memory; nothing throws.
template <class T>
struct Allocator {
  using value_type = T;

  constexpr Allocator() noexcept = default;
  template <class U>
  constexpr Allocator(const Allocator<U>&) noexcept {}

  [[nodiscard]] T* allocate(std::size_t count) noexcept {
    return static_cast<T*>(api.alloc(count * sizeof(T)));
  }
  void deallocate(T* memory, std::size_t) noexcept { api.free(memory); }

  friend constexpr bool operator==(const Allocator&, const Allocator&) noexcept { return true; }
};

}  // namespace headgate::redis_module
