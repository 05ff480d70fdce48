// What the module remembers of a request, from its decision to its log line.
//
// A worker has many requests under way and one thread: nothing here is for two.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "headgate/base/instant.h"
#include "headgate/gate/gate.h"
#include "headgate/gate/verdict.h"
#include "headgate/nginx/ngx.h"

namespace headgate::nginx {

struct RequestContext {
  const gate::Gate* gate;
  gate::Verdict verdict;  // its items and dues are kept with this
  Instant taken;
  std::uint64_t body_bytes;  // of the response, as given to the connection
  bool enforceable;          // decided before nginx answered

  // Whether any policy did.
  [[nodiscard]] bool matched() const noexcept { return verdict.outcome != gate::Outcome::off; }
};

// The request's context. nginx forgets module contexts on internal redirects, this does not.
// nullptr: it has none yet.
[[nodiscard]] RequestContext* find_context(ngx_http_request_t* r) noexcept;

// Gives the request a context, until its end: so far of one that no policy matched. nullptr: out
// of memory.
[[nodiscard]] RequestContext* add_context(ngx_http_request_t* r) noexcept;

// The same for all requests that no policy matched.
RequestContext* add_unmatched(ngx_http_request_t* r) noexcept;

// Memory until the end of the request: with its context while that has room. nullptr: there is
// none.
[[nodiscard]] void* room_for(ngx_http_request_t* r, std::size_t bytes,
                             std::size_t alignment) noexcept;

// Moves a text to where it stays until the end of the request. false: out of memory.
[[nodiscard]] bool keep(ngx_http_request_t* r, std::string_view& text) noexcept;

}  // namespace headgate::nginx
