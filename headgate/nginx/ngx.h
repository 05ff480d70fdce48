// nginx's headers, for C++.
#pragma once

extern "C" {
#include <ngx_channel.h>
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>
}

#include <string_view>

namespace headgate::nginx {

[[nodiscard]] inline std::string_view view(const ngx_str_t& s) noexcept {
  return {reinterpret_cast<const char*>(s.data), s.len};
}

// nginx's strings are not const, but nginx does not change the bytes.
[[nodiscard]] inline ngx_str_t as_ngx_str(std::string_view s) noexcept {
  return {s.size(), reinterpret_cast<u_char*>(const_cast<char*>(s.data()))};
}

}  // namespace headgate::nginx
