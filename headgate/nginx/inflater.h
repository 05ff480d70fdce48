// Decompresses gzip (RFC 1952) as it passes.
#pragma once

#include <zlib.h>

#include <string_view>

#include "headgate/nginx/ngx.h"

namespace headgate::nginx {

// Takes about 40 KiB of a pool, which frees them with all else. Not thread-safe.
class Inflater {
 public:
  // nullptr: out of memory.
  [[nodiscard]] static Inflater* make(ngx_pool_t* pool) noexcept;

  // Calls take(decompressed) for each part of what a piece contains. Nothing more comes after
  // malformed data.
  template <class Take>
  void read(std::string_view piece, const Take& take) noexcept {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));
    stream_.avail_in = static_cast<uInt>(piece.size());
    for (std::string_view part = next(); !part.empty(); part = next()) take(part);
  }

 private:
  explicit Inflater(ngx_pool_t* pool) noexcept;

  // The next decompressed bytes, valid until the next call of any inflater; empty: none.
  std::string_view next() noexcept;

  z_stream stream_{};
  bool is_good_ = false;
};

}  // namespace headgate::nginx
