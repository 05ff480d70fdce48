#include "headgate/nginx/inflater.h"

#include <array>
#include <new>
#include <type_traits>

namespace headgate::nginx {
namespace {

// A worker reads one piece at a time.
std::array<char, 16384> room;

extern "C" {
voidpf allocate(voidpf pool, uInt count, uInt size) noexcept {
  return ngx_palloc(static_cast<ngx_pool_t*>(pool), static_cast<size_t>(count) * size);
}
void free_nothing(voidpf, voidpf) noexcept {}  // the pool frees it
}

}  // namespace

static_assert(std::is_trivially_destructible_v<Inflater>);

Inflater::Inflater(ngx_pool_t* pool) noexcept {
  constexpr int gzip_alone = 16;  // see inflateInit2()
  stream_.zalloc = allocate;
  stream_.zfree = free_nothing;
  stream_.opaque = pool;
  is_good_ = inflateInit2(&stream_, MAX_WBITS + gzip_alone) == Z_OK;
}

Inflater* Inflater::make(ngx_pool_t* pool) noexcept {
  void* const memory = ngx_palloc(pool, sizeof(Inflater));
  if (memory == nullptr) return nullptr;
  auto* const made = new (memory) Inflater(pool);
  return made->is_good_ ? made : nullptr;
}

std::string_view Inflater::next() noexcept {
  while (is_good_) {
    stream_.next_out = reinterpret_cast<Bytef*>(room.data());
    stream_.avail_out = static_cast<uInt>(room.size());
    const int result = inflate(&stream_, Z_NO_FLUSH);
    // After the end of a member another one may begin.
    is_good_ = result == Z_OK || result == Z_BUF_ERROR ||
               (result == Z_STREAM_END && inflateReset(&stream_) == Z_OK);
    const std::size_t size = room.size() - stream_.avail_out;
    if (size > 0) return {room.data(), size};
    if (stream_.avail_in == 0 || result == Z_BUF_ERROR) break;
  }
  return {};
}

}  // namespace headgate::nginx
