#include "headgate/server/envoy/http2_memory.h"

#include <malloc.h>

#include <algorithm>
#include <cstdlib>

namespace headgate::server {

void* Http2Memory::resize(void* old, std::size_t size) noexcept {
  constexpr std::size_t rounding = 24;  // glibc's allocator may give so much more than it is asked
  const std::size_t before = malloc_usable_size(old);
  if (size > before && !may_have(used_ - before + size + rounding)) return nullptr;
  void* const found = std::realloc(old, std::max<std::size_t>(size, 1));
  if (found != nullptr) set_used(used_ - before + malloc_usable_size(found));
  return found;
}

void Http2Memory::release(void* old) noexcept {
  set_used(used_ - malloc_usable_size(old));
  std::free(old);
}

bool Http2Memory::may_have(std::size_t bytes) const noexcept {
  if (bytes <= own) return true;
  return trusted_ && bytes <= most &&
         pool_.shared_ - shared(used_) + shared(bytes) <= pool_.shared_max_;
}

void Http2Memory::set_used(std::size_t bytes) noexcept {
  pool_.shared_ = pool_.shared_ - shared(used_) + shared(bytes);
  used_ = bytes;
}

}  // namespace headgate::server
