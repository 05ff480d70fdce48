#include "headgate/server/envoy/http2_memory.h"

#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace headgate::server {

void* Http2Memory::resize(void* old, std::size_t size) noexcept {
  const std::size_t before = malloc_usable_size(old);
  if (old != nullptr && size <= before) {
    void* const found = std::realloc(old, std::max<std::size_t>(size, 1));
    if (found != nullptr) set_used(used_ - before + malloc_usable_size(found));
    return found;
  }
  // Not by realloc(): the allocator may give more than it is asked, which may be too much.
  void* const found = std::malloc(std::max<std::size_t>(size, 1));
  const std::size_t after = used_ - before + malloc_usable_size(found);
  if (found == nullptr || !may_have(after)) {
    std::free(found);
    return nullptr;
  }
  if (old != nullptr) std::memcpy(found, old, before);
  std::free(old);
  set_used(after);
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
