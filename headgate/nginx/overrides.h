// headgate_overrides: overrides that are made while nginx runs. Each worker follows their file.
#pragma once

#include <cstdint>
#include <string>

#include "headgate/base/result.h"
#include "headgate/nginx/conf.h"
#include "headgate/nginx/ngx.h"

namespace headgate::nginx {

// To be called when the policies and their store are open: reads the file, if there is one, and
// puts the policies with the overrides in force. The error is a sentence. Throws std::bad_alloc.
[[nodiscard]] Result<void, std::string> open_overrides(MainConf& conf);

// The Unix time [s] of this turn of nginx's loop.
[[nodiscard]] inline std::uint64_t unix_now() noexcept {
  return static_cast<std::uint64_t>(ngx_time());
}

// Puts conf.overrides in force, if they have changed. What was in force before lasts as long as
// requests need it. Throws std::bad_alloc.
void put_in_force(MainConf& conf);

// The same, whether they have changed or not.
void make_in_force(MainConf& conf);

// To be called when a worker starts: looks at the file now and then.
void begin_following(const MainConf& conf) noexcept;

extern "C" {
// Callback of ngx_command_t.
char* set_overrides(ngx_conf_t* cf, ngx_command_t* cmd, void* conf) noexcept;
}

}  // namespace headgate::nginx
