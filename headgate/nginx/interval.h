// Time between two things that must not happen too often.
#pragma once

#include "headgate/nginx/ngx.h"

namespace headgate::nginx {

// By nginx's monotonic clock: the wall clock may be set back. Not thread-safe.
class Interval {
 public:
  // The first one is over from the start.
  explicit constexpr Interval(ngx_msec_t length) noexcept : length_(length) {}

  // If it is over, begins anew and returns true.
  [[nodiscard]] bool restart_if_over() noexcept {
    if (ngx_current_msec < end_) return false;
    end_ = ngx_current_msec + length_;
    return true;
  }

 private:
  ngx_msec_t length_;
  ngx_msec_t end_ = 0;
};

}  // namespace headgate::nginx
